import { h, swap } from './dom.js';
import { jsonView } from './json-view.js';
import { problem } from './problem.js';

/** The compensations that `cancel` or `undo` would run. They are loaded when the dialog opens. */
export function previewView(ask) {
  const view = h('div.preview', { 'aria-live': 'polite' }, h('p', 'Loading the compensations …'));
  ask().then(
    (plan) => swap(view, planView(plan)),
    (error) => swap(view, problem(error)),
  );
  return view;
}

function planView({ compensations, withoutCompensation, inProgress, pivot }) {
  return [
    pivot && h('p.notice.bad', `The saga has passed its pivot, ${pivot}: nothing would be compensated.`),
    compensations.length > 0
      ? h('ol', ...compensations.map((one, n) => h('li', compensation(one, n))))
      : h('p.empty', 'Nothing has to be compensated.'),
    withoutCompensation.length > 0 &&
      h(
        'p.notice',
        `These steps have no compensation and stay as they are: ${withoutCompensation.join(', ')}.`,
      ),
    inProgress.length > 0 &&
      h('p.notice', `Running now, and compensated as well if it completes: ${inProgress.join(', ')}.`),
  ];
}

function compensation({ step, compensate, index, unknown, result, subSaga }, n) {
  return [
    h('b', compensate ?? 'its sub-saga'),
    ` compensates ${step}${index === undefined ? '' : `[${index}]`}`,
    unknown && h('small', ' whose outcome is unknown'),
    jsonView(`preview ${n}`, 'argument', result),
    subSaga && h('div.nested', planView(subSaga)),
  ];
}
