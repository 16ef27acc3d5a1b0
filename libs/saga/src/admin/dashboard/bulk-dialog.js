import { post } from './api.js';
import { ACTIONS } from './actions.js';
import { field, operatorField, pickField, rememberOperator } from './fields.js';
import { h, swap } from './dom.js';
import { count, plural, sagaName } from './format.js';
import { problem } from './problem.js';

/**
 * Runs one action on all sagas that match the filters of the list. It counts them first and asks for the reason. A saga that
 * has changed since is not changed.
 * @param filter of `api/bulk`; without `saga`, the dialog asks for one
 * @param done called after something was done
 */
export function bulkDialog(filter, context, done) {
  const counted = h('div', { 'aria-live': 'polite' });
  const answer = h('div', { 'aria-live': 'assertive' });
  const submit = h('button.primary', { type: 'submit', disabled: true }, 'Choose an action');
  const close = h('button', { type: 'button', onclick: () => dialog.close() }, 'Close');
  const actions = Object.entries(ACTIONS).flatMap(([kind, { label, many }]) =>
    many ? [[kind, label.replace('…', '')]] : [],
  );
  const asked = h(
    'div.fields',
    filter.saga === undefined &&
      pickField('saga', 'Saga', [['', 'choose …'], ...context.sagas.map((name) => [name, sagaName(name)])]),
    pickField('action', 'Action', [['', 'choose …'], ...actions]),
    counted,
    field('reason', 'Reason', { required: true }),
    operatorField(context),
  );
  const form = h(
    'form',
    { method: 'dialog' },
    h('h2', { id: 'bulk-title' }, 'Bulk action'),
    h('p', `All sagas${filter.saga ? ` of ${sagaName(filter.saga)}` : ''} that match the filters.`),
    asked,
    answer,
    h('div.buttons', close, submit),
  );
  /** Returns the fields of the request, or undefined while a required choice is missing. */
  const chosen = () => {
    const given = [...new FormData(form)].map(([name, text]) => [name, String(text)]);
    const { action, saga = filter.saga, reason, by } = Object.fromEntries(given);
    return action && saga ? { action, filter: { ...filter, saga }, reason, ...(by && { by }) } : undefined;
  };
  const look = async () => {
    submit.disabled = true;
    swap(counted);
    const request = chosen();
    if (!request) return;
    const { action } = request;
    try {
      const { matched, more } = await post('bulk', { action, filter: request.filter });
      submit.disabled = matched === 0;
      submit.className = ACTIONS[action].look === 'danger' ? 'danger solid' : 'primary';
      submit.textContent = `${ACTIONS[action].label.replace('…', '')} ${plural(matched, 'saga')}`;
      swap(counted, h('p', ACTIONS[action].many), h('p.notice', found(matched, more)));
    } catch (error) {
      swap(counted, problem(error));
    }
  };
  for (const pick of form.querySelectorAll('select')) pick.addEventListener('change', look);
  const dialog = h('dialog', { 'aria-labelledby': 'bulk-title', onclose: () => dialog.remove() }, form);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const request = chosen();
    if (!request) return;
    submit.disabled = true;
    rememberOperator(request.by);
    try {
      const came = await post('bulk', { ...request, dryRun: false });
      asked.remove();
      submit.remove();
      close.textContent = 'Close';
      swap(answer, outcome(ACTIONS[request.action].done, came));
      close.focus();
    } catch (error) {
      swap(answer, problem(error));
      submit.disabled = false;
    } finally {
      done();
    }
  });
  document.body.append(dialog);
  dialog.showModal();
}

function found(matched, more) {
  return more
    ? `More than ${plural(matched, 'saga')} match. The action applies to the newest ${count(matched)}.`
    : `${plural(matched, 'saga')} ${matched === 1 ? 'matches' : 'match'}.`;
}

function outcome(text, { done, matched, failed, proposed }) {
  return h(
    'div.notice',
    h('p', h('b', `${text[0].toUpperCase()}${text.slice(1)} ${count(done)} of ${plural(matched, 'saga')}.`)),
    proposed > 0 && h('p', `Proposed for ${plural(proposed, 'saga')}: a second operator must do the same.`),
    failed.length > 0 && h('p', `${plural(failed.length, 'saga')} not changed:`),
    h(
      'ul',
      failed.slice(0, 20).map(({ error }) => h('li', error)),
    ),
  );
}
