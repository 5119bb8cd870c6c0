/**
 * Keeps a page up to date without a reload. The server sends elements. An element whose id is on the page replaces that
 * one, a new one goes into the list above the one that `data-next` names, or to the top, and one with `data-gone` is
 * removed. What was open stays open. A field that has the focus is not replaced, so that typing goes on.
 */
export const liveScript = `const list = document.querySelector('[data-live]');
const connection = document.querySelector('#connection');
const events = new EventSource(document.body.dataset.events);

const showConnection = (state, text) => {
  if (connection.dataset.state === state) return;
  connection.dataset.state = state;
  connection.textContent = text;
};
events.addEventListener('open', () => showConnection('on', 'connected'));
events.addEventListener('error', () => showConnection('lost', 'reconnecting'));
events.addEventListener('some', ({ data }) => update(data));
events.addEventListener('all', ({ data }) => {
  const ids = update(data);
  for (const item of [...list.children]) if (!ids.has(item.id)) item.remove();
});

function update(markup) {
  const template = document.createElement('template');
  template.innerHTML = markup;
  const ids = new Set();
  for (const fresh of [...template.content.children]) {
    ids.add(fresh.id);
    const old = document.getElementById(fresh.id);
    if ('gone' in fresh.dataset) old?.remove();
    else if (old) replace(old, fresh);
    else add(fresh);
  }
  while (list.children.length > Number(list.dataset.live)) list.lastElementChild.remove();
  return ids;
}

function add(fresh) {
  const { next } = fresh.dataset;
  fresh.classList.add('new');
  if (next === '') list.append(fresh);
  else list.insertBefore(fresh, (next && document.getElementById(next)) || list.firstChild);
  if (document.activeElement === document.body) fresh.querySelector('input:not([type=hidden])')?.focus();
}

function replace(old, fresh) {
  const active = document.activeElement;
  const inside = old.contains(active);
  if (inside && active.matches('input:not([type=hidden]), select')) return;
  const opened = new Set([...old.querySelectorAll('details[open]')].map(({ dataset }) => dataset.key));
  for (const details of fresh.querySelectorAll('details')) details.open = opened.has(details.dataset.key);
  old.classList.remove('new');
  if (old.isEqualNode(fresh)) return;
  const position = inside ? findFocusable(old).indexOf(active) : -1;
  old.replaceWith(fresh);
  findFocusable(fresh)[position]?.focus();
}

function findFocusable(element) {
  return [...element.querySelectorAll('summary, a, button')];
}

function openTarget() {
  const details = location.hash && document.getElementById(location.hash.slice(1))?.querySelector('details');
  if (details && list.contains(details)) details.open = true;
}
addEventListener('hashchange', openTarget);
openTarget();
`;
