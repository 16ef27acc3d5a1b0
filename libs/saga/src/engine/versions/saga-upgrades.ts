import { type SagaGraph, sagaLabel } from '../../definition/graph/saga-graph.js';
import { decide } from '../../machine/decide.js';
import { type Clock, systemClock } from '../../shared/clock.js';
import { describeStep } from '../../machine/describe-step.js';
import type { EngineLog } from '../ports/engine-log.js';
import type { GraphStore, SagaVersion, UnfinishedSaga } from '../ports/graph-store.js';
import { REASONS_NAMED, SagaMoves } from './upgrade-plan.js';
import type { Edit, StoreTarget } from '../ports/saga-store.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import { serializeError } from '../payload/serialize-error.js';

/** Instances looked at by one statement. */
const PAGE = 100;
/** Moved side by side: few, so that the pool has connections left for the rest of the application. */
const LANES = 4;
/** Pages of one turn, after which the others may have theirs. */
const PAGES = 10;
/** How long (ms) a turn is another process's before it counts as lost. */
const TURN = 30_000;
/** The pause after a sweep that moved nothing doubles up to this many polls. */
const LONGEST_PAUSE = 64;
/** The pause is also at least this many times as long as the sweep, in turns. */
const REST = 4;

/** The part of the engine that moves instances. */
export interface UpgradingEngine {
  /** Something is due that this process may have room for. */
  announceDue(): void;
  edit(
    target: StoreTarget,
    change: (saga: StoredSaga, graph: SagaGraph | undefined, now: number) => Edit | undefined,
  ): Promise<StoredSaga | undefined>;
}

/** How far the sweep over the instances of the versions that a target upgrades from is; stored for all processes. */
interface UpgradeProgress {
  /** The version whose instances come next; undefined: a sweep begins. */
  readonly from?: number;
  /** The page that comes next; undefined: the first. */
  readonly next?: string;
  /** Turns of this sweep. */
  readonly turns: number;
  /** Instances that this sweep has moved. */
  readonly moved: number;
  /** Sweeps before this one, without a break, that moved nothing. */
  readonly idle: number;
}

/**
 * Moves running instances to the versions that say `upgradeFrom`, as soon as each can be.
 *
 * All processes take turns: one at a time looks at no more than `PAGES` pages, and the next goes on where it ended. So what
 * is read does not grow with the number of processes, and instances that cannot move delay the others by no more than a
 * sweep and the pause after it (`pauseAfter`).
 */
export class SagaUpgrades {
  private readonly targets: readonly SagaGraph[];
  /** Ids whose reasons have been logged, for each version that instances are moved from. */
  private readonly told = new Map<string, Set<string>>();
  /** When the next turn may be had, by the clock; none: this process has not asked yet. */
  private readonly dueAt = new Map<SagaGraph, number>();
  private passing: Promise<void> | undefined;
  private stopped = false;

  /**
   * @param graphs those of the sagas that run here
   * @param poll milliseconds between two calls of `tick`
   */
  constructor(
    graphs: readonly SagaGraph[],
    private readonly store: Pick<GraphStore, 'stored' | 'unfinished' | 'takeTurn' | 'endTurn'>,
    private readonly engine: UpgradingEngine,
    private readonly log: EngineLog,
    private readonly poll: number,
    private readonly clock: Pick<Clock, 'monotonic'> = systemClock,
  ) {
    this.targets = graphs.filter(({ upgradeFrom = [] }) => upgradeFrom.length > 0);
  }

  /** At start-up, and at each poll: instances that were in progress, or come from an old process, may be free by now. */
  async tick(): Promise<void> {
    if (this.passing || this.stopped) return;
    const due = this.targets.filter((to) => (this.dueAt.get(to) ?? 0) <= this.clock.monotonic());
    if (due.length === 0) return;
    this.passing = this.pass(due)
      .catch((error: unknown) =>
        this.log.error(`Moving sagas to a new version failed: ${serializeError(error).message}`),
      )
      .finally(() => (this.passing = undefined));
    await this.passing;
  }

  /** Begins nothing more. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.passing;
  }

  private async pass(due: readonly SagaGraph[]): Promise<void> {
    for (const to of due) if (!this.stopped) await this.turn(to);
  }

  private async turn(to: SagaGraph): Promise<void> {
    // A process that begins may bring what lets instances move: it does not wait for the end of a pause.
    const turn = await this.store.takeTurn(to, TURN, !this.dueAt.has(to));
    if ('dueIn' in turn) return void this.dueAt.set(to, this.clock.monotonic() + turn.dueIn);
    const before = readProgress(turn.progress);
    const done = await this.goOn(to, before);
    const ended = done.from === undefined;
    const dueIn = done.moved > before.moved || this.stopped ? 0 : pauseAfter(done, ended) * this.poll;
    await this.store.endTurn(to, JSON.stringify(ended ? sweepEnded(done) : done), dueIn);
    this.dueAt.set(to, this.clock.monotonic() + dueIn);
  }

  /** A part of a sweep. Without `from`: up to its end. */
  private async goOn(to: SagaGraph, before: UpgradeProgress): Promise<UpgradeProgress> {
    const versions = to.upgradeFrom!;
    let at = Math.max(0, versions.indexOf(before.from ?? versions[0]!));
    let { next, moved } = before;
    const turns = before.turns + 1;
    const known = new Map<number, SagaMoves>();
    for (let pages = 0; pages < PAGES && !this.stopped; pages += 1) {
      const from = { name: to.name, version: versions[at]! };
      const moves = known.get(at) ?? new SagaMoves(to, await this.store.stored([from]));
      known.set(at, moves);
      const page = await this.store.unfinished(from, PAGE, next);
      moved += await this.moveAll(page.sagas, from, moves);
      next = page.next;
      if (next !== undefined) continue;
      at += 1;
      if (at === versions.length) return { turns, moved, idle: before.idle };
    }
    return { from: versions[at], next, turns, moved, idle: before.idle };
  }

  /** How many of a page it moved. */
  private async moveAll(
    sagas: readonly UnfinishedSaga[],
    from: SagaVersion,
    moves: SagaMoves,
  ): Promise<number> {
    const movable = sagas.filter((saga) => this.isMovable(saga, moves));
    let moved = 0;
    while (movable.length > 0 && !this.stopped) {
      const lane = movable.splice(0, LANES).map((saga) => this.move(saga, from, moves));
      moved += (await Promise.all(lane)).filter(Boolean).length;
    }
    if (moved > 0) {
      this.engine.announceDue();
      this.log.log(`Moved ${moved} running instance(s) of ${sagaLabel(from)} to version ${moves.to.version}`);
    }
    return moved;
  }

  private isMovable(saga: UnfinishedSaga, moves: SagaMoves): boolean {
    const obstacle = moves.obstacleOf(saga);
    if (obstacle && !obstacle.passing) this.tell(saga, moves.to, obstacle.problem);
    return obstacle === undefined;
  }

  /** False: it has gone on meanwhile, and stays for this time. */
  private async move({ id }: UnfinishedSaga, from: SagaVersion, moves: SagaMoves): Promise<boolean> {
    let moved = false;
    await this.engine.edit({ id }, (saga, _, now) => {
      moved = saga.version === from.version && moves.obstacleOf(saga) === undefined;
      return moved ? moveTo(moves.to, saga, now) : undefined;
    });
    return moved;
  }

  /** Each once, and of many the first few. */
  private tell(saga: UnfinishedSaga, to: SagaGraph, problem: string): void {
    const key = `${sagaLabel(saga)}>${to.version}`;
    const told = this.told.get(key) ?? new Set<string>();
    this.told.set(key, told);
    if (told.has(saga.id) || told.size > REASONS_NAMED) return;
    told.add(saga.id);
    this.log.warn(
      told.size > REASONS_NAMED
        ? `Further instances of ${sagaLabel(saga)} stay on their version as well. npx saga graph diff shows how many`
        : `Saga ${saga.id} stays on ${sagaLabel(saga)} and is not moved to version ${to.version}: ${problem}`,
    );
  }
}

/** What happened to it stays as it is; what comes next is the new version's. */
export function moveTo(to: SagaGraph, { state, dueAt }: StoredSaga, now: number): Edit {
  const step = describeStep(to, state, decide(to, state, now));
  // The new graph may have something to do at once; but not before the saga was to begin, or has its lock.
  const due = state.steps.size > 0 || (dueAt ?? false);
  return { state, step, due: state.status === 'running' && due, version: to.version };
}

function readProgress(text: string | undefined): UpgradeProgress {
  return text === undefined ? { turns: 0, moved: 0, idle: 0 } : (JSON.parse(text) as UpgradeProgress);
}

/** What is stored after a sweep has reached its end: the next one begins anew. */
function sweepEnded({ moved, idle }: UpgradeProgress): UpgradeProgress {
  return { turns: 0, moved: 0, idle: moved > 0 ? 0 : idle + 1 };
}

/** Polls until the next turn. @param done the progress when the turn ended, before `sweepEnded` */
function pauseAfter(done: UpgradeProgress, ended: boolean): number {
  if (!ended || done.moved > 0) return 1;
  return Math.max(Math.min(LONGEST_PAUSE, 2 ** (done.idle + 1)), REST * done.turns);
}
