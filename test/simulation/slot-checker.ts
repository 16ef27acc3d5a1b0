import type { StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import type { CallContext } from './effect.js';
import type { SagaRecord } from './saga-record.js';
import type { Promised } from './promises.js';

/** An attempt of a step with a limit over all sagas, from its call until its worker has its answer, or has given it up. */
interface Attempt {
  readonly limit: string;
  readonly text: string;
  readonly isInProgress: () => boolean;
}

/** Counts the attempts of steps with a `limit` that are in progress under valid leases. */
export class SlotChecker {
  private attempts: Attempt[] = [];

  constructor(
    private readonly violate: (promise: Promised, what: string) => void,
    private readonly now: () => number,
  ) {}

  /** @param isAlive the process that calls */
  during<T>(
    { record, node, ctx, worker }: { record: SagaRecord; node: StepNode; ctx: CallContext; worker: string },
    isAlive: () => boolean,
    answer: Promise<T>,
  ): Promise<T> {
    if (!node.limit) return answer;
    const { count, key } = node.limit;
    const limit = `${record.graph.name} ${node.name} ${key?.(ctx as never) ?? ''}`;
    let isOver = false;
    const { epoch } = record;
    const holds = () => record.holder === worker && record.epoch === epoch && this.now() < record.leaseEnds;
    const attempt: Attempt = {
      limit,
      text: `${ctx.idempotencyKey} in ${worker}`,
      isInProgress: () => !isOver && !ctx.signal.aborted && isAlive() && holds(),
    };
    this.attempts = this.attempts.filter(({ isInProgress }) => isInProgress());
    this.attempts.push(attempt);
    const others = this.attempts.filter((other) => other.limit === limit && other.isInProgress());
    if (others.length > count)
      this.violate(
        'I36',
        `${others.length} attempts of ${limit} are in progress, ${count} may be: ${others.map(({ text }) => text).join('; ')}`,
      );
    return answer.finally(() => (isOver = true));
  }
}
