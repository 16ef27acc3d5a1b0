import { get, post } from './api.js';
import { ACTIONS } from './actions.js';
import { compensationName } from './compensation.js';
import { field, jsonField, operatorField, pickField, readJson, rememberOperator } from './fields.js';
import { openDialog } from './dialog.js';
import { h } from './dom.js';
import { plural, words } from './format.js';
import { previewView } from './preview.js';

/**
 * Asks for the reason and the arguments of an action, sends it and shows the result. The request contains the state that
 * the operator saw, so that nothing happens to a saga that has changed since.
 * @param {import('../dashboard-data.js').ShownSaga} saga
 * @param {import('../dashboard-data.js').ShownAction} action
 */
export function actionDialog(saga, action, context, done) {
  const { kind } = action;
  const about = ACTIONS[kind] ?? { label: words(kind), title: `${words(kind)}?`, text: '' };
  const what = {
    ...about,
    ...(saga.heldPhase === 'compensating' && about.compensating),
    ...(action.now && about.now),
  };
  openDialog(
    {
      ...{ kind, title: what.title, about: saga.correlationId, text: what.text, look: what.look },
      submit: what.submit ?? what.label.replace('…', ''),
    },
    [
      what.preview && previewView(() => get(`sagas/${encodeURIComponent(saga.id)}/rollback`)),
      fields(saga, action, what, context),
    ],
    async (form) => {
      const came = await post(`sagas/${encodeURIComponent(saga.id)}/${kind}`, bodyOf(form, saga, action));
      return came.done ? `${what.label.replace('…', '')}: done.` : proposedText(came.needed - came.approvals);
    },
    done,
    crossed,
  );
}

/**
 * @param {import('../dashboard-data.js').ShownSaga} saga
 * @param {import('../dashboard-data.js').ShownAction} action
 */
function fields(saga, { steps = [], signals }, { asks = [], reason, comment, noReason }, context) {
  const compensating = saga.heldPhase === 'compensating';
  const label = compensating ? 'Compensation' : 'Step';
  const names = compensating ? steps.map((step) => [step, compensationName(saga, step)]) : steps;
  return [
    asks.includes('step') && pickField('step', label, names),
    asks.includes('step?') && steps.length > 1 && pickField('step', label, [['', 'all of them'], ...names]),
    asks.includes('unlessBegun') &&
      pickField('unlessBegun', 'Only if this step has not begun', [
        ['', 'whatever has begun'],
        ...unbegun(saga),
      ]),
    asks.includes('at') &&
      field('at', 'New time (2026-12-24T08:00Z) or duration from now (2h)', { required: true }),
    asks.includes('signal') && pickField('signal', 'Signal', signals),
    asks.includes('payload') && jsonField('payload', 'Payload (JSON)'),
    asks.includes('input') &&
      saga.payloads.shown &&
      jsonField('input', 'With another input (JSON)', saga.input, true),
    asks.includes('result') && jsonField('result', 'Result of the step (JSON)'),
    !noReason && field(comment ? 'comment' : 'reason', comment ? 'Comment' : 'Reason', { required: reason }),
    !noReason && operatorField(context, comment),
  ];
}

/** The steps of which no attempt has begun, each with its name as the text. */
function unbegun({ steps }) {
  const isOne = ({ status, attempts }) => attempts === 0 && (status === 'pending' || status === 'waiting');
  return steps.filter(isOne).map(({ name }) => [name, name]);
}

/**
 * @param {HTMLFormElement} form
 * @param {{ status: string, revision: number }} saga
 * @param {import('../dashboard-data.js').ShownAction} action
 */
function bodyOf(form, { status, revision }, { kind, now }) {
  const texts = [...new FormData(form)].map(([name, text]) => [name, String(text)]);
  const given = Object.fromEntries(texts.filter(([, text]) => text.trim() !== ''));
  /** @type {Record<string, unknown>} */
  const body = {};
  for (const [name, text] of Object.entries(given)) {
    if (name === 'input' || name === 'result' || name === 'payload') body[name] = readJson(name, text);
    else body[name] = text.trim();
  }
  if (now) body.now = true;
  rememberOperator(given.by);
  if (!['signal', 'approve', 'reject'].includes(kind))
    body.expects = { status, ...(revision !== undefined && { revision }) };
  return body;
}

/** Shows that the saga has changed since the page showed it. */
function crossed(error, dialog) {
  return h(
    'div',
    { class: 'notice bad', role: 'alert' },
    h('strong', {}, 'Nothing was done: the saga has changed since this page showed it.'),
    h('p', {}, error.message),
    h('button', { type: 'button', onclick: () => dialog.close() }, 'Show the saga again'),
  );
}

function proposedText(missing) {
  return `Proposed. ${plural(missing, 'more operator')} must do the same.`;
}
