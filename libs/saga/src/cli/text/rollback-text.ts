import type { RollbackPlan, RollbackPlanStep } from '../../nest/views/rollback-plan.js';

/** What turning back would do. */
export function rollbackLines(plan: RollbackPlan): string[] {
  const { compensations, withoutCompensation, underWay, pivot, undecided } = plan;
  const others = underWay.filter((name) => name !== undecided);
  if (pivot !== undefined)
    return [`Nothing would be undone: it has passed its point of no return, '${pivot}'`, ...staying(plan)];
  return [
    ...(compensations.length === 0
      ? ['There is nothing to undo']
      : ['Would be undone, in this order:', ...compensations.flatMap((step) => linesOf(step, '  '))]),
    ...(withoutCompensation.length > 0 ? staying(plan) : []),
    ...(undecided === undefined
      ? []
      : [`Only if the point of no return '${undecided}' fails: its outcome is not known`]),
    ...(others.length > 0 ? [`Under way, and undone too if it completes: ${others.join(', ')}`] : []),
  ];
}

function staying({ withoutCompensation }: RollbackPlan): string[] {
  return withoutCompensation.length > 0
    ? [`Stays as it is, since nothing undoes it: ${withoutCompensation.join(', ')}`]
    : [];
}

function linesOf({ step, index, compensate, subSaga, unknown }: RollbackPlanStep, indent: string): string[] {
  const key = index === undefined ? step : `${step}[${index}]`;
  const how = subSaga ? `by saga ${subSaga.id}, which turns back` : `by ${compensate}`;
  const doubt = unknown ? '; nobody knows whether it took effect' : '';
  return [
    `${indent}${key}, ${how}${doubt}`,
    ...(subSaga?.compensations.flatMap((one) => linesOf(one, `${indent}  `)) ?? []),
  ];
}

/** Without what the steps gave. */
export function withoutResults(plan: RollbackPlan): object {
  return {
    ...plan,
    compensations: plan.compensations.map(({ result: _, item: __, subSaga, ...step }) => ({
      ...step,
      ...(subSaga && { subSaga: withoutResults(subSaga) }),
    })),
  };
}
