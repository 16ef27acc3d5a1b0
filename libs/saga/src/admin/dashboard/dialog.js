import { focusedKey, focusKey, h } from './dom.js';
import { problem } from './problem.js';
import { toast } from './toast.js';

/**
 * Asks before something is sent, sends it and shows the result.
 * @param {{ kind: string, title: string, about: string, text: string, submit: string, look?: string }} what `about` is what
 * it happens to, and `submit` the text of the button that sends
 * @param children what the form has besides
 * @param {(form: HTMLFormElement) => Promise<string>} send returns what to show when it is done
 * @param {() => void} done is called after each attempt
 * @param {(error: any, dialog: HTMLDialogElement) => Node} [crossed] shows an error with status 409, after which nothing can
 * be sent. Default: such an error is shown as any other
 */
export function openDialog({ kind, title, about, text, submit: label, look }, children, send, done, crossed) {
  const opener = focusedKey();
  const answer = h('div', { 'aria-live': 'assertive' });
  const submit = h(
    'button',
    { type: 'submit', class: look === 'danger' ? 'danger solid' : 'primary', 'data-submit': kind },
    label,
  );
  const form = h(
    'form',
    { method: 'dialog' },
    h('h2', { id: 'dialog-title' }, title),
    h('p.mono.about', about),
    h('p', text),
    children,
    answer,
    h('div.buttons', h('button', { type: 'button', onclick: () => dialog.close() }, 'Close'), submit),
  );
  const dialog = h('dialog.action', { 'aria-labelledby': 'dialog-title' }, form);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    answer.replaceChildren();
    submit.disabled = true;
    try {
      const result = await send(form);
      dialog.close();
      toast(result);
    } catch (error) {
      const isCrossed = crossed !== undefined && error.status === 409;
      answer.replaceChildren(isCrossed ? crossed(error, dialog) : problem(error));
      answer.scrollIntoView({ block: 'nearest' });
      submit.disabled = isCrossed;
    } finally {
      done();
    }
  });
  dialog.addEventListener('close', () => {
    dialog.remove();
    focusKey(opener);
  });
  document.body.append(dialog);
  dialog.showModal();
}
