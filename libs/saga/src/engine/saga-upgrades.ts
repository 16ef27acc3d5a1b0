import { type SagaGraph, sagaLabel } from '../definition/saga-graph.js';
import { decide } from '../machine/decide.js';
import { describeStep } from './describe-step.js';
import type { EngineLog } from './engine-log.js';
import type { GraphStore, SagaVersion, UnfinishedSaga } from './graph-store.js';
import { REASONS_NAMED, SagaMoves } from './saga-moves.js';
import type { SagaEngine } from './saga-engine.js';
import type { Edit, StoredSaga } from './saga-store.js';
import { serializeError } from './serialize-error.js';

/** Instances looked at by one statement. */
const PAGE = 100;
/** Moved side by side: few, so that the pool has connections left for the rest of the application. */
const LANES = 4;
/** While nothing is to be moved, the polls between two passes double up to this many. */
const LONGEST_PAUSE = 64;

/** Moves running instances to the versions that say `upgradeFrom`, as soon as each can be. */
export class SagaUpgrades {
  private readonly targets: readonly SagaGraph[];
  /** Ids whose reasons have been told, of each version that is moved from. */
  private readonly told = new Map<string, Set<string>>();
  private pause = 1;
  private ticksLeft = 0;
  private passing: Promise<void> | undefined;
  private stopped = false;

  /** @param graphs those of the sagas that run here */
  constructor(
    graphs: readonly SagaGraph[],
    private readonly store: Pick<GraphStore, 'stored' | 'unfinished'>,
    private readonly engine: Pick<SagaEngine, 'edit' | 'announceDue'>,
    private readonly log: EngineLog,
  ) {
    this.targets = graphs.filter(({ upgradeFrom = [] }) => upgradeFrom.length > 0);
  }

  /** At start-up, and at each poll: instances that were under way, or come from an old process, may be free by now. */
  tick(): void {
    if (this.targets.length === 0 || this.passing || this.stopped) return;
    if (this.ticksLeft > 0) {
      this.ticksLeft -= 1;
      return;
    }
    this.passing = this.pass()
      .then((moved) => {
        this.pause = moved > 0 ? 1 : Math.min(LONGEST_PAUSE, this.pause * 2);
        this.ticksLeft = this.pause;
      })
      .catch((error: unknown) => this.log.error(`Moving sagas failed: ${serializeError(error).message}`))
      .finally(() => (this.passing = undefined));
  }

  /** Begins nothing more. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.passing;
  }

  /** How many it moved. */
  private async pass(): Promise<number> {
    let moved = 0;
    for (const to of this.targets) {
      for (const version of to.upgradeFrom ?? []) moved += await this.moveAll({ name: to.name, version }, to);
    }
    return moved;
  }

  private async moveAll(from: SagaVersion, to: SagaGraph): Promise<number> {
    const moves = new SagaMoves(to, await this.store.stored([from]));
    let moved = 0;
    let next: string | undefined;
    do {
      const page = await this.store.unfinished(from, PAGE, next);
      const movable = page.sagas.filter((saga) => this.isMovable(saga, moves));
      const before = moved;
      while (movable.length > 0 && !this.stopped) {
        const lane = movable.splice(0, LANES).map((saga) => this.move(saga, from, moves));
        moved += (await Promise.all(lane)).filter(Boolean).length;
      }
      if (moved > before) this.engine.announceDue();
      next = page.next;
    } while (next !== undefined && !this.stopped);
    if (moved > 0)
      this.log.log(`Moved ${moved} running instance(s) of ${sagaLabel(from)} to version ${to.version}`);
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
        ? `Further instances of ${sagaLabel(saga)} stay on their version, too; saga graph diff tells how many`
        : `Saga ${saga.id} stays on ${sagaLabel(saga)}, and is not moved to version ${to.version}: ${problem}`,
    );
  }
}

/** What happened to it stays as it is; what comes next is the new version's. */
function moveTo(to: SagaGraph, { state, dueAt }: StoredSaga, now: number): Edit {
  const step = describeStep(state, decide(to, state, now));
  // The new graph may have something to do at once; but not before the saga was to begin, or has its lock.
  const due = state.steps.size > 0 || (dueAt ?? false);
  return { state, step, due: state.status === 'running' && due, version: to.version };
}
