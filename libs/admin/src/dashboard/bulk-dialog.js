import { post } from './api.js';
import { ACTIONS } from './actions.js';
import { buttonLook, givenIn, openDialog } from './dialog.js';
import { h, swap } from './dom.js';
import { field, operatorField, pickField } from './fields.js';
import { sagaOptions } from './filters.js';
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
  const actions = Object.entries(ACTIONS).flatMap(([kind, { label, many }]) =>
    many ? [[kind, label.replace('…', '')]] : [],
  );
  /** Returns the fields of the request, or undefined while a required choice is missing. */
  const chosen = () => {
    const { saga = filter.saga, ...given } = givenIn(form);
    return given.action && saga ? { ...given, filter: { ...filter, saga } } : undefined;
  };
  const { form, submit } = openDialog(
    {
      ...{ kind: 'bulk', title: 'Bulk action', submit: 'Choose an action' },
      text: `All sagas${filter.saga ? ` of ${sagaName(filter.saga)}` : ''} that match the filters.`,
    },
    [
      filter.saga === undefined && pickField('saga', 'Saga', sagaOptions(context, 'choose …')),
      pickField('action', 'Action', [['', 'choose …'], ...actions]),
      counted,
      field('reason', 'Reason', { required: true }),
      operatorField(context),
    ],
    async () => {
      const request = chosen();
      return outcome(ACTIONS[request.action].done, await post('bulk', { ...request, dryRun: false }));
    },
    done,
  );
  submit.disabled = true;
  const look = async () => {
    submit.disabled = true;
    swap(counted);
    const request = chosen();
    if (!request) return;
    const { action } = request;
    try {
      const { matched, more } = await post('bulk', { action, filter: request.filter });
      submit.disabled = matched === 0;
      submit.className = buttonLook(ACTIONS[action].look);
      submit.textContent = `${ACTIONS[action].label.replace('…', '')} ${plural(matched, 'saga')}`;
      swap(counted, h('p', ACTIONS[action].many), h('p.notice', found(matched, more)));
    } catch (error) {
      swap(counted, problem(error));
    }
  };
  for (const pick of form.querySelectorAll('select')) pick.addEventListener('change', look);
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
    h('ul', ...failed.slice(0, 20).map(({ error }) => h('li', error))),
  );
}
