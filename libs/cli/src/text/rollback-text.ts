import type { RollbackPlan, RollbackPlanStep } from 'nestjs-durable-saga/operators';

/** Returns the lines of a rollback plan. */
export function rollbackLines(plan: RollbackPlan): string[] {
  const { compensations, withoutCompensation, inProgress, pivot, undecided } = plan;
  const others = inProgress.filter((name) => name !== undecided);
  if (pivot !== undefined)
    return [`Nothing would be compensated: the saga has passed its pivot, '${pivot}'`, ...staying(plan)];
  return [
    ...(compensations.length === 0
      ? ['There is nothing to compensate']
      : [
          'These steps would be compensated, in this order:',
          ...compensations.flatMap((step) => linesOf(step, '  ')),
        ]),
    ...(withoutCompensation.length > 0 ? staying(plan) : []),
    ...(undecided === undefined
      ? []
      : [`Only if the pivot '${undecided}' fails: its outcome is not known yet`]),
    ...(others.length > 0 ? [`Running, and compensated as well if it completes: ${others.join(', ')}`] : []),
  ];
}

function staying({ withoutCompensation }: RollbackPlan): string[] {
  return withoutCompensation.length > 0
    ? [`Not compensated, because it has no compensation: ${withoutCompensation.join(', ')}`]
    : [];
}

function linesOf({ step, index, compensate, subSaga, unknown }: RollbackPlanStep, indent: string): string[] {
  const key = index === undefined ? step : `${step}[${index}]`;
  const how = subSaga ? `by the compensations of saga ${subSaga.id}` : `by ${compensate}`;
  const doubt = unknown ? '; its outcome is unknown' : '';
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
