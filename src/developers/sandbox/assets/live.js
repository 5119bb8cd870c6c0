// Keeps a page up to date without a reload. The server sends the body of the page, of which each element with `data-live`
// replaces the one with its id. Of a list only the items that differ are replaced, added or removed. What was open stays
// open. A field that has the focus is not replaced, so that typing goes on.

const connection = document.querySelector('#connection');
const events = new EventSource(document.body.dataset.events);

const showConnection = (state, text) => {
  if (connection.dataset.state === state) return;
  connection.dataset.state = state;
  connection.textContent = text;
};
events.addEventListener('open', () => showConnection('on', 'connected'));
events.addEventListener('error', () => showConnection('lost', 'reconnecting'));
events.addEventListener('message', ({ data }) => {
  const template = document.createElement('template');
  template.innerHTML = data;
  for (const fresh of template.content.querySelectorAll('[data-live]')) {
    const old = document.getElementById(fresh.id);
    if (fresh.matches('ol')) updateList(old, fresh.children);
    else replace(old, fresh);
  }
});

/** The items that stay have the same order as before. */
function updateList(list, items) {
  const ids = new Set(Array.from(items, ({ id }) => id));
  for (const old of [...list.children]) if (!ids.has(old.id)) old.remove();
  let next = list.firstElementChild;
  for (const fresh of [...items]) {
    const old = next;
    if (old?.id === fresh.id) {
      next = old.nextElementSibling;
      replace(old, fresh);
    } else add(list, fresh, next);
  }
}

function add(list, fresh, next) {
  fresh.classList.add('new');
  list.insertBefore(fresh, next);
  // Only if it is the one field, because the focus scrolls to it.
  const fields = list.querySelectorAll('input:not([type=hidden])');
  if (document.activeElement === document.body && fields.length === 1 && fresh.contains(fields[0]))
    fields[0].focus();
}

function replace(old, fresh) {
  const active = document.activeElement;
  const inside = old.contains(active);
  if (inside && active.matches('input:not([type=hidden]), select')) return;
  const opened = new Set([...old.querySelectorAll('details[open]')].map(({ dataset }) => dataset.key));
  for (const details of fresh.querySelectorAll('details')) details.open = opened.has(details.dataset.key);
  old.classList.remove('new');
  if (old.isEqualNode(fresh)) return;
  // What comes after it stays in its place.
  if ('keep' in fresh.dataset) fresh.style.minHeight = `${old.offsetHeight}px`;
  const position = inside ? findFocusable(old).indexOf(active) : -1;
  old.replaceWith(fresh);
  findFocusable(fresh)[position]?.focus();
}

function findFocusable(element) {
  return [...element.querySelectorAll('summary, a, button')];
}

function openTarget() {
  const details = document.getElementById(location.hash.slice(1))?.querySelector('details');
  if (details) details.open = true;
}
addEventListener('hashchange', openTarget);
openTarget();

// Copies the text beside a button, and sends the forms that stay on their page. The clipboard exists on https and on
// localhost only: elsewhere the text is selected, and copied by the older command.

document.documentElement.classList.add('scripted');
const announcement = document.createElement('p');
announcement.className = 'hidden';
announcement.setAttribute('role', 'status');
document.body.append(announcement);

document.addEventListener('click', async ({ target }) => {
  const button = target.closest('button.copy');
  if (!button) return;
  const isCopied = await copyText(button.parentElement.querySelector('code'));
  announcement.textContent = isCopied ? 'Copied' : 'Selected. Copy it with the keyboard.';
  button.firstChild.data = isCopied ? 'Copied' : 'Selected';
  setTimeout(() => {
    announcement.textContent = '';
    button.firstChild.data = 'Copy';
  }, 2000);
});

async function copyText(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(source);
    return document.execCommand('copy');
  }
}

document.addEventListener('submit', async (event) => {
  const { target: form, submitter } = event;
  if (!('stay' in form.dataset) || connection.dataset.state !== 'on') return;
  event.preventDefault();
  // A form whose field has the focus would not be replaced.
  if (form.contains(document.activeElement)) submitter?.focus();
  const body = new URLSearchParams(new FormData(form, submitter));
  const response = await fetch(form.action, { method: 'POST', body, redirect: 'manual' }).catch(() => null);
  if (response?.type === 'opaqueredirect') announcement.textContent = 'Done';
  else if (response) {
    // The page of the response says what is wrong.
    delete form.dataset.stay;
    form.requestSubmit(submitter);
  } else announcement.textContent = 'Not sent';
});
