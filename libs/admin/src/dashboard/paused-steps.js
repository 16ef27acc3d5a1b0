import { get } from './api.js';
import { confirmButton } from './dialog.js';
import { h, swap } from './dom.js';
import { field, operatorField } from './fields.js';
import { sagaName } from './format.js';
import { live, SELDOM } from './live.js';
import { problem } from './problem.js';
import { pausedSince } from './status.js';
import { wideTable } from './table.js';

const ACTIONS = {
  pause: {
    kind: 'pause-step',
    label: 'Pause…',
    title: 'Pause the step for all sagas?',
    text: 'No attempt of it begins, in any process, until it is resumed. Attempts in progress end normally. Compensations, deadlines and other branches continue.',
  },
  resume: {
    kind: 'resume-step',
    label: 'Resume…',
    title: 'Resume the step?',
    text: 'The sagas that wait for it continue.',
  },
};

/**
 * Shows the steps that are paused, of all sagas. Nothing is shown while none is.
 * @returns a function that loads them at once
 */
export function pausedSteps(root, { context, signal }) {
  const list = h('section.paused-steps', { 'aria-label': 'Paused steps' });
  root.append(list);
  const look = live(
    signal,
    () => get('paused-steps', {}, signal),
    (page, error) => {
      if (error) return swap(list, problem(error));
      const { items, unreachable } = page;
      swap(
        list,
        items.length > 0 && h('h2', 'Paused steps'),
        items.length > 0 &&
          wideTable(
            'figures.entries',
            ['Saga', 'Step', 'Paused', ''],
            items.map((one) => row(one, context, () => void look())),
          ),
        unreachable && h('p.notice', `Shards that cannot be reached are missing: ${unreachable.join(', ')}.`),
      );
    },
    SELDOM,
  );
  return look;
}

function row(paused, context, done) {
  const { saga, step, since, actions, shards } = paused;
  return h(
    'tr',
    { 'data-paused': `${saga}.${step}` },
    h('td', h('a', { href: `#/?${new URLSearchParams({ saga, step })}` }, sagaName(saga))),
    h('td', h('b', step)),
    h('td', pausedSince(since, paused), shards && h('small', ` on ${shards.join(', ')}`)),
    h('td.buttons', actions.length > 0 && stepButton('resume', paused, context, done)),
  );
}

/** The button that pauses or resumes a step of all sagas of a name. */
export function stepButton(kind, { saga, step }, context, done) {
  const path = `paused-steps/${encodeURIComponent(saga)}/${encodeURIComponent(step)}/${kind}`;
  const fields = [field('reason', 'Reason'), operatorField(context)];
  return confirmButton(ACTIONS[kind], `step ${step} of ${saga}`, path, fields, done);
}
