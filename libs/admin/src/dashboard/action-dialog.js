import { get, post } from './api.js';
import { ACTIONS } from './actions.js';
import { compensationName } from './compensation.js';
import { givenIn, openDialog } from './dialog.js';
import { field, jsonField, operatorField, pickField, readJson } from './fields.js';
import { h } from './dom.js';
import { plural } from './format.js';
import { previewView } from './preview.js';

/**
 * Asks for the reason and the arguments of an action, sends it and shows the result. The request contains the state that
 * the operator saw, so that nothing happens to a saga that has changed since.
 * @param {import('../dashboard-data.js').ShownSaga} saga
 * @param {import('../dashboard-data.js').ShownAction} action
 */
export function actionDialog(saga, action, context, done) {
  const { kind } = action;
  const call = ACTIONS[kind];
  const compensating = compensates(saga);
  const texts = { ...call, ...(compensating && call.compensating) };
  const label = texts.label.replace('…', '');
  const asked = call.fields.filter(({ name }) => name !== texts.omits);
  openDialog(
    {
      ...{ kind, title: texts.title, about: saga.correlationId, text: texts.text, look: texts.look },
      submit: texts.submit ?? label,
    },
    [
      call.compensates && previewView(() => get(`sagas/${encodeURIComponent(saga.id)}/rollback`)),
      asked.map((one) => fieldOf(one, saga, action)),
      !call.sends && !call.decides && field('reason', 'Reason', { required: call.requiresReason }),
      !call.sends && operatorField(context, call.decides),
    ],
    async (form) => {
      const came = await post(`sagas/${encodeURIComponent(saga.id)}/${kind}`, bodyOf(form, saga, action));
      return came.done ? `${label}: done.` : proposedText(came.needed - came.approvals);
    },
    done,
    crossed,
  );
}

/**
 * The field for an option of the call.
 * @param {import('../dashboard-data.js').ActionDialog['fields'][number]} option
 * @param {import('../dashboard-data.js').ShownSaga} saga
 * @param {import('../dashboard-data.js').ShownAction} action
 */
function fieldOf({ name, type, label, required }, saga, { steps = [], signals }) {
  const compensating = compensates(saga);
  if (name === 'signal') return pickField(name, label, signals);
  if (name === 'unlessBegun') return pickField(name, label, [['', 'whatever has begun'], ...unbegun(saga)]);
  if (name === 'step') {
    const names = compensating ? steps.map((step) => [step, compensationName(saga, step)]) : steps;
    const all = required ? [] : [['', 'all of them']];
    return (
      (required || steps.length > 1) &&
      pickField(name, compensating ? 'Compensation' : label, [...all, ...names])
    );
  }
  if (name === 'input') return saga.payloads.shown && jsonField(name, label, saga.input, true);
  return type === 'json' ? jsonField(name, label) : field(name, label, { required });
}

/** Whether the saga compensates, or needs an operator while it compensates. */
function compensates({ status, heldPhase = status }) {
  return heldPhase === 'compensating';
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
function bodyOf(form, { status, revision }, { kind }) {
  const { sends, decides, fields } = ACTIONS[kind];
  /** @type {Record<string, unknown>} */
  const body = givenIn(form);
  for (const { name, type } of fields)
    if (type === 'json' && name in body) body[name] = readJson(name, body[name]);
  if (!sends && !decides) body.expects = { status, ...(revision !== undefined && { revision }) };
  return body;
}

/** Shows that the saga has changed since the page showed it. */
function crossed(error, dialog) {
  return h(
    'div.notice.bad',
    { role: 'alert' },
    h('strong', 'Nothing was done: the saga has changed since this page showed it.'),
    h('p', error.message),
    h('button', { type: 'button', onclick: () => dialog.close() }, 'Show the saga again'),
  );
}

function proposedText(missing) {
  return `Proposed. ${plural(missing, 'more operator')} must do the same.`;
}
