import type { StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import type { HeldLease } from '../../libs/saga/src/engine/ports/stored-saga.js';
import {
  decodeReports,
  partsOfReportKey,
  reportKey,
  type StepReport,
} from '../../libs/saga/src/engine/ports/step-reports.js';
import { PENDING, type SagaState, stepState } from '../../libs/saga/src/machine/saga-state.js';
import { BeatWatch } from './beat-watch.js';
import type { CallContext } from './effect.js';
import { effectKeyOf, partsOfKey } from './effect-key.js';
import type { Promised } from './promises.js';
import type { SagaRecord } from './saga-record.js';
import type { Life, Timeline } from './timeline.js';

/** The details of a heartbeat: its number among all, and the step or item and round that it belongs to. */
export interface Beat {
  readonly n: number;
  readonly of: string;
}

export interface ReportingAttempt {
  readonly record: SagaRecord;
  readonly node: StepNode;
  readonly kind: 'run' | 'undo';
  readonly ctx: CallContext;
  readonly worker: string;
  readonly life: Life;
}

/** A step has completed, and reports nothing more, even if it is compensated. */
const ENDED: ReadonlySet<string> = new Set(['completed', 'compensating', 'compensation_failed']);

/** A statement whose connection broke is executed no later than this (ms). */
const LATEST_RENEWAL = 25_000;

/** What steps report, against what is stored of it and what their next attempts are given. */
export class HeartbeatChecker {
  /** By saga: the reports that are stored. */
  private readonly stored = new Map<string, ReadonlyMap<string, StepReport>>();
  /** By number: the process that sent the heartbeat. */
  private readonly senders: string[] = [];
  /** By step or item and round: the last heartbeat, with the lease under which it was sent. */
  private readonly last = new Map<
    string,
    { readonly n: number; readonly worker: string; readonly epoch: number }
  >();
  /** Sagas of which a renewal was not answered, and until when it may still be executed, after later ones. */
  private readonly unsure = new Map<string, number>();

  constructor(
    private readonly timeline: Timeline,
    private readonly violate: (promise: Promised, what: string) => void,
  ) {}

  /** A method is called. It is given the last heartbeat that is stored, or a later one of the same process. */
  begins({ record, kind, ctx, worker }: ReportingAttempt): void {
    const of = placeOf(ctx, kind);
    const last = ctx.lastHeartbeat as Beat | undefined;
    if (last && last.of !== of) this.violate('I37', `${of} is given a heartbeat of ${last.of}`);
    // Overtaken, it may begin with what it knows.
    if (record.holder !== worker || BigInt(record.epoch) !== ctx.fencingToken) return;
    const stored = this.storedBeat(record.id, ctx, kind);
    if ((last?.n ?? -1) < (stored?.n ?? -1))
      this.violate('I37', `${of} is given heartbeat ${last?.n ?? 'none'}; ${stored!.n} is stored`);
    else if (last && last.n !== stored?.n && this.senders[last.n] !== worker)
      this.violate('I37', `${of} is given heartbeat ${last.n}, which ${worker} cannot know`);
  }

  /** Watches that the attempt ends if it is not alive, and only then. */
  watch(attempt: ReportingAttempt): BeatWatch {
    const { node, ctx, life, kind } = attempt;
    const limit = kind === 'run' ? node.heartbeat : undefined;
    return new BeatWatch(this.timeline, { limit, ctx, life }, (what) =>
      this.violate('I37', `${placeOf(ctx, kind)}, attempt ${ctx.attempt}: ${what}`),
    );
  }

  /** The details of the next heartbeat of this attempt. */
  next({ ctx, kind, worker }: ReportingAttempt): Beat {
    const n = this.senders.push(worker) - 1;
    const of = placeOf(ctx, kind);
    this.last.set(of, { n, worker, epoch: Number(ctx.fencingToken) });
    return { n, of };
  }

  /** A renewal of the lease has stored the reports of a saga. */
  renewed({ id, reports }: HeldLease, record: SagaRecord): void {
    if (reports === undefined) return;
    const [before, now] = [this.stored.get(id), decodeReports(reports)];
    for (const [key, was] of before ?? []) this.checkOrder(record, key, was, now.get(key));
    this.stored.set(id, now);
    if (this.unsure.has(id)) this.unsure.set(id, this.timeline.now + LATEST_RENEWAL);
  }

  /** The connection broke: what was sent with it is stored, is not, or will be. In an outage a failure may be stored before it. */
  unanswered(leases: readonly HeldLease[]): void {
    for (const { id } of leases) this.unsure.set(id, Infinity);
  }

  private isUnsure(id: string): boolean {
    return this.timeline.now < (this.unsure.get(id) ?? -Infinity);
  }

  /** What a step that fails has reported is stored before its failure is. */
  saved(record: SagaRecord, before: SagaState, after: SagaState): void {
    for (const [key, step] of after.steps) {
      const was = before.steps.get(key) ?? PENDING;
      if (step.failures > was.failures) this.checkFailed(record, key, stepRound(after, key), 'run');
      if (step.compensationFailures > was.compensationFailures)
        this.checkFailed(record, key, stepRound(after, key), 'undo');
    }
  }

  private checkFailed(
    { id, holder, epoch }: SagaRecord,
    key: string,
    round: number,
    kind: 'run' | 'undo',
  ): void {
    const of = `${kind} ${key}~${round} of ${id}`;
    const last = this.last.get(of);
    if (!last || last.worker !== holder || last.epoch !== epoch || this.isUnsure(id)) return;
    const stored = beatOf(this.stored.get(id)?.get(storedKey(key, kind)), round);
    if ((stored?.n ?? -1) < last.n)
      this.violate('I37', `${of} has failed after heartbeat ${last.n}; ${stored?.n ?? 'none'} is stored`);
  }

  /** The reports of a step in one round only go on, and stay until it has ended. */
  private checkOrder(
    { id, state }: SagaRecord,
    key: string,
    was: StepReport,
    is: StepReport | undefined,
  ): void {
    const { step, kind } = partsOfReportKey(key);
    const { status } = stepState(state, step);
    const isEnded = status === 'compensated' || (kind === 'step' && ENDED.has(status));
    if (isEnded || this.isUnsure(id) || stepRound(state, step) !== was.round) return;
    const [before, now] = [beatOf(was, was.round), beatOf(is, was.round)];
    if ((now?.n ?? -1) < (before?.n ?? -1))
      this.violate(
        'I37',
        `${key} of ${id}, which is ${status}: heartbeat ${now?.n ?? 'none'} is stored after ${before!.n}`,
      );
    const [shown, next] = [progressOf(was, was.round), progressOf(is, was.round)];
    if (next < shown) this.violate('I37', `${key} of ${id}: progress ${next} is stored after ${shown}`);
  }

  private storedBeat(id: string, ctx: CallContext, kind: 'run' | 'undo'): Beat | undefined {
    const { key, round } = partsOfKey(effectKeyOf(ctx));
    return beatOf(this.stored.get(id)?.get(storedKey(key, kind)), round);
  }
}

function placeOf(ctx: CallContext, kind: 'run' | 'undo'): string {
  const { key, round } = partsOfKey(effectKeyOf(ctx));
  return `${kind} ${key}~${round} of ${ctx.sagaId}`;
}

function storedKey(key: string, kind: 'run' | 'undo'): string {
  return reportKey(key, kind === 'run' ? 'step' : 'compensation');
}

function stepRound(state: SagaState, key: string): number {
  return stepState(state, key.replace(/\[.*/, '')).round;
}

function beatOf(report: StepReport | undefined, round: number): Beat | undefined {
  const details = report?.round === round ? report.heartbeat?.details : undefined;
  return details === undefined ? undefined : (JSON.parse(details) as Beat);
}

/** The number of the heartbeat that was sent with it. */
function progressOf(report: StepReport | undefined, round: number): number {
  return report?.round === round && report.progress ? Number(report.progress.message) : -1;
}
