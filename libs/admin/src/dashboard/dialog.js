import { post } from './api.js';
import { byId, focusedKey, focusKey, h } from './dom.js';
import { rememberOperator } from './fields.js';
import { problem } from './problem.js';

/**
 * Asks before something is sent, sends it and shows the result.
 * @param {{ kind: string, title: string, about?: string, text: string, submit: string, look?: string }} what `about` is what
 * it happens to, and `submit` the text of the button that sends
 * @param {unknown[]} children what the form has besides
 * @param {(form: HTMLFormElement) => Promise<string | Node>} send returns what to show when it is done: a text on the page, or
 * an element in the place of the fields
 * @param {() => void} done is called after each attempt
 * @param {(error: any, dialog: HTMLDialogElement) => Node} [crossed] shows an error with status 409, after which nothing can
 * be sent. Default: such an error is shown as any other
 * @returns {{ form: HTMLFormElement, submit: HTMLButtonElement }}
 */
export function openDialog({ kind, title, about, text, submit: label, look }, children, send, done, crossed) {
  const opener = focusedKey();
  const fields = h('div.fields', ...children);
  const answer = h('div', { 'aria-live': 'assertive' });
  const close = h('button', { type: 'button', onclick: () => dialog.close() }, 'Close');
  const submit = h('button', { type: 'submit', class: buttonLook(look), 'data-submit': kind }, label);
  const form = h(
    'form',
    { method: 'dialog' },
    h('h2', { id: 'dialog-title' }, title),
    about && h('p.mono.about', about),
    h('p', text),
    fields,
    answer,
    h('div.buttons', close, submit),
  );
  const dialog = h('dialog.action', { 'aria-labelledby': 'dialog-title' }, form);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    answer.replaceChildren();
    submit.disabled = true;
    try {
      const result = await send(form);
      if (typeof result === 'string') {
        dialog.close();
        toast(result);
      } else {
        fields.remove();
        submit.remove();
        answer.replaceChildren(result);
        close.focus();
      }
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
  return { form, submit };
}

/** The class of the button that sends. */
export function buttonLook(look) {
  return look === 'danger' ? 'danger solid' : 'primary';
}

/** What the fields of a form have, without those that are empty. @param {HTMLFormElement} form */
export function givenIn(form) {
  const texts = [...new FormData(form)].map(([name, text]) => [name, String(text).trim()]);
  const given = Object.fromEntries(texts.filter(([, text]) => text !== ''));
  rememberOperator(given.by);
  return given;
}

/**
 * The button that opens the dialog of an action.
 * @param {string} action
 * @param {string} label
 * @param {string} about what the action concerns, for screen readers
 * @param {() => void} onclick
 */
export function actionButton(action, label, about, onclick) {
  const name = `${label.replace('…', '')}: ${about}`;
  return h('button', { type: 'button', 'data-action': action, 'aria-label': name, onclick }, label);
}

/**
 * The button of an action that the operator has to confirm. It posts what the fields have.
 * @param {{ kind: string, label: string, title: string, text: string }} action
 * @param {string} about what the action concerns
 * @param {string} path below the API, of the action
 * @param {unknown[]} fields
 * @param {() => void} done
 */
export function confirmButton({ kind, label, ...texts }, about, path, fields, done) {
  const submit = label.replace('…', '');
  const send = async (form) => {
    await post(path, givenIn(form));
    return `${submit}: done.`;
  };
  return actionButton(kind, label, about, () =>
    openDialog({ kind, about, submit, ...texts }, fields, send, done),
  );
}

/** Says something in passing. */
export function toast(text) {
  const note = h('p.toast', text);
  byId('toasts').append(note);
  setTimeout(() => note.remove(), 6_000);
}
