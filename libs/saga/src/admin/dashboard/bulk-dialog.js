import { post } from './api.js';
import { ACTIONS } from './actions.js';
import { field, operatorField, rememberOperator } from './fields.js';
import { h, swap } from './dom.js';
import { count, plural } from './format.js';
import { problem } from './problem.js';
import { toast } from './toast.js';

const KINDS = ['retry', 'pause', 'resume', 'cancel', 'abort', 'undo'];

/**
 * The same to all that the list's filters find: counts them first, and asks why. Each is left alone that has changed since
 * it was counted.
 * @param filter of `api/bulk`; @param done called once something was done
 */
export function bulkDialog(filter, context, done) {
  const counted = h('div', { 'aria-live': 'polite' });
  const answer = h('div', { 'aria-live': 'assertive' });
  const submit = h('button', { type: 'submit', class: 'danger solid', disabled: true }, 'Do it');
  const pick = h(
    'select',
    { name: 'action', required: true },
    h('option', { value: '' }, 'choose …'),
    KINDS.map((kind) => h('option', { value: kind }, ACTIONS[kind].label.replace('…', ''))),
  );
  const look = async () => {
    submit.disabled = true;
    if (!pick.value) return swap(counted);
    try {
      const { matched, more } = await post('bulk', { action: pick.value, filter });
      submit.disabled = matched === 0;
      submit.textContent = `${ACTIONS[pick.value].label.replace('…', '')} ${plural(matched, 'saga')}`;
      swap(counted, h('p', {}, ACTIONS[pick.value].many), h('p', { class: 'notice' }, found(matched, more)));
    } catch (error) {
      swap(counted, problem(error));
    }
  };
  pick.addEventListener('change', look);
  const form = h(
    'form',
    { method: 'dialog' },
    h('h2', { id: 'bulk-title' }, 'Many at once'),
    h('p', {}, `All ${filter.saga} that the filters find.`),
    h('label', { class: 'field' }, h('span', {}, 'What to do'), pick),
    counted,
    field('reason', 'Why', { required: true }),
    operatorField(context),
    answer,
    h(
      'div',
      { class: 'buttons' },
      h('button', { type: 'button', onclick: () => dialog.close() }, 'Leave them'),
      submit,
    ),
  );
  const dialog = h('dialog', { 'aria-labelledby': 'bulk-title', onclose: () => dialog.remove() }, form);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    submit.disabled = true;
    const { action, reason, by } = Object.fromEntries(new FormData(form));
    rememberOperator(by);
    try {
      const came = await post('bulk', { action, filter, dryRun: false, reason, ...(by && { by }) });
      toast(`Done to ${count(came.done)} of ${plural(came.matched, 'saga')}.`);
      if (came.failed.length + came.proposed === 0) dialog.close();
      else swap(answer, outcome(came));
    } catch (error) {
      swap(answer, problem(error));
    } finally {
      done();
    }
  });
  document.body.append(dialog);
  dialog.showModal();
}

function found(matched, more) {
  return more
    ? `More than ${plural(matched, 'saga')} are found: it is done to the newest ${count(matched)} of them.`
    : `${plural(matched, 'saga')} ${matched === 1 ? 'is' : 'are'} found.`;
}

function outcome({ failed, proposed }) {
  return h(
    'div',
    { class: 'notice' },
    proposed > 0 && h('p', {}, `${plural(proposed, 'saga')}: a second person has to do the same.`),
    failed.length > 0 && h('p', {}, `${plural(failed.length, 'saga')}: left as they were.`),
    h(
      'ul',
      {},
      failed.slice(0, 20).map(({ error }) => h('li', {}, error)),
    ),
  );
}
