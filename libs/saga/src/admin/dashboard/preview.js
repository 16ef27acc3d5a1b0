import { h, swap } from './dom.js';
import { jsonView } from './json-view.js';
import { problem } from './problem.js';

/** What cancelling, or undoing, would do: asked for when the dialog opens. */
export function previewView(ask) {
  const view = h(
    'div',
    { class: 'preview', 'aria-live': 'polite' },
    h('p', {}, 'Looking at what would be undone …'),
  );
  ask().then(
    (plan) => swap(view, planView(plan)),
    (error) => swap(view, problem(error)),
  );
  return view;
}

function planView({ compensations, withoutCompensation, underWay, pivot }) {
  return [
    pivot &&
      h(
        'p',
        { class: 'notice bad' },
        `It has passed its point of no return, ${pivot}: nothing would be undone.`,
      ),
    compensations.length > 0
      ? h(
          'ol',
          {},
          compensations.map((one, n) => h('li', {}, compensation(one, n))),
        )
      : h('p', { class: 'empty' }, 'Nothing has to be undone.'),
    withoutCompensation.length > 0 &&
      h(
        'p',
        { class: 'notice' },
        `Stays as it is, for want of a compensation: ${withoutCompensation.join(', ')}.`,
      ),
    underWay.length > 0 &&
      h(
        'p',
        { class: 'notice' },
        `Under way right now, and undone as well if it completes: ${underWay.join(', ')}.`,
      ),
  ];
}

function compensation({ step, compensate, index, unknown, result, subSaga }, n) {
  return [
    h('b', {}, compensate ?? 'its saga is turned back'),
    ` undoes ${step}${index === undefined ? '' : `[${index}]`}`,
    unknown && h('small', {}, ' whose outcome is unknown'),
    jsonView(`preview ${n}`, 'is given', result),
    subSaga && h('div', { class: 'nested' }, planView(subSaga)),
  ];
}
