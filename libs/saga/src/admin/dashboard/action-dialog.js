import { get, post } from './api.js';
import { ACTIONS } from './actions.js';
import { field, jsonField, operatorField, pickField, readJson, rememberOperator } from './fields.js';
import { h } from './dom.js';
import { plural, words } from './format.js';
import { previewView } from './preview.js';
import { problem } from './problem.js';
import { toast } from './toast.js';

/**
 * Asks whether, why and how, does it, and says what came of it. It tells the state that the operator saw, so that nothing
 * happens to a saga that another has moved on meanwhile.
 */
export function actionDialog(saga, action, context, done) {
  const { kind } = action;
  const what = ACTIONS[kind] ?? { label: words(kind), title: `${words(kind)}?`, text: '' };
  const opener = document.activeElement?.dataset.key;
  const answer = h('div', { 'aria-live': 'assertive' });
  const submit = h(
    'button',
    { type: 'submit', class: what.look === 'danger' ? 'danger solid' : 'primary', 'data-submit': kind },
    what.submit ?? what.label.replace('…', ''),
  );
  const form = h(
    'form',
    { method: 'dialog' },
    h('h2', { id: 'dialog-title' }, what.title),
    h('p', { class: 'mono about' }, saga.correlationId),
    h('p', {}, what.text),
    what.preview && previewView(() => get(`sagas/${encodeURIComponent(saga.id)}/rollback`)),
    fields(saga, action, what, context),
    answer,
    h(
      'div',
      { class: 'buttons' },
      h('button', { type: 'button', onclick: () => dialog.close() }, 'Leave it'),
      submit,
    ),
  );
  const dialog = h('dialog', { 'aria-labelledby': 'dialog-title', class: 'action' }, form);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    answer.replaceChildren();
    submit.disabled = true;
    try {
      const came = await post(`sagas/${encodeURIComponent(saga.id)}/${kind}`, bodyOf(form, saga, kind));
      dialog.close();
      toast(
        came.done
          ? `${what.label.replace('…', '')}: done.`
          : `Proposed: ${plural(came.needed - came.approvals, 'more person')} has to do the same.`,
      );
    } catch (error) {
      answer.replaceChildren(error.status === 409 ? crossed(error, dialog) : problem(error));
      answer.scrollIntoView({ block: 'nearest' });
      submit.disabled = error.status === 409;
    } finally {
      done();
    }
  });
  dialog.addEventListener('close', () => {
    dialog.remove();
    [...document.querySelectorAll('[data-key]')].find(({ dataset }) => dataset.key === opener)?.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
}

function fields(saga, { kind, steps, signals }, { asks = [], reason, comment, noReason }, context) {
  return [
    asks.includes('step') && pickField('step', 'Step', steps),
    asks.includes('step?') && steps?.length > 1 && pickField('step', 'Step', [['', 'all of them'], ...steps]),
    asks.includes('signal') && pickField('signal', 'Signal', signals),
    asks.includes('payload') && jsonField('payload', 'Payload (JSON)'),
    asks.includes('input') &&
      saga.payloads.shown &&
      jsonField('input', 'With another input (JSON)', saga.input, true),
    asks.includes('result') && jsonField('result', 'Its result (JSON), if it goes forward'),
    !noReason &&
      field(comment ? 'comment' : 'reason', comment ? 'Comment' : 'Why', { required: reason, key: kind }),
    !noReason && operatorField(context, comment),
  ];
}

function bodyOf(form, { status, revision }, kind) {
  const given = Object.fromEntries([...new FormData(form)].filter(([, text]) => text.trim() !== ''));
  const body = {};
  for (const [name, text] of Object.entries(given)) {
    if (name === 'input' || name === 'result' || name === 'payload') body[name] = readJson(name, text);
    else body[name] = text.trim();
  }
  rememberOperator(given.by);
  if (!['signal', 'approve', 'reject'].includes(kind))
    body.expects = { status, ...(revision !== undefined && { revision }) };
  return body;
}

/** Two operators, or the saga itself, were quicker. */
function crossed(error, dialog) {
  return h(
    'div',
    { class: 'notice bad', role: 'alert' },
    h('strong', {}, 'Nothing was done: the saga is not as you saw it any more.'),
    h('p', {}, error.message),
    h('button', { type: 'button', onclick: () => dialog.close() }, 'Look at it again'),
  );
}
