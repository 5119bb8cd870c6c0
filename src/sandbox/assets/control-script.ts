/**
 * Copies the text beside a button, and sends the forms that stay on their page. The clipboard exists on https and on
 * localhost only: elsewhere the text is selected, and copied by the older command.
 */
export const controlScript = `document.documentElement.classList.add('scripted');
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
  const body = new URLSearchParams(new FormData(form, submitter));
  const response = await fetch(form.action, { method: 'POST', body, redirect: 'manual' }).catch(() => null);
  if (response?.type === 'opaqueredirect') announcement.textContent = 'Done';
  else if (response) {
    // The page of the response says what is wrong.
    delete form.dataset.stay;
    form.requestSubmit(submitter);
  } else announcement.textContent = 'Not sent';
});
`;
