import { Inject, Injectable } from '@nestjs/common';
import { catchError, concatMap, EMPTY, map, mergeAll, type Observable, tap } from 'rxjs';
import {
  SagaNotFoundError,
  type SagaSnapshot,
  type SagaSummary,
  SagaTimeoutError,
  SagaUnavailableError,
  type SagaUpdate,
} from 'nestjs-durable-saga';
import {
  type HistoryEntry,
  type RollbackPlan,
  type TimelineEntry,
  describeWait,
  timelineOf,
} from 'nestjs-durable-saga/operators';
import {
  type AllowedCall,
  type SagaGraph,
  type WaitPart,
  allowedCalls,
  describeOperation,
  isUuid,
  partsOfWait,
  withoutGiven,
} from 'nestjs-durable-saga/internal';
import { AdminAccess } from './admin-access.js';
import { AdminRuntime } from './admin.runtime.js';
import {
  type GraphFinder,
  type PayloadsShown,
  payloadsShown,
  redactedHistory,
  redactedPlan,
  redactedSnapshot,
} from './redact-saga.js';
import {
  type AdminDefinition,
  definitionOf,
  drawingOf,
  drawingOfRecord,
  type SagaDrawing,
} from './saga-drawing.js';

/** A saga as operators see it: what is to be redacted is, and with what they may do to it. */
export interface AdminSaga extends SagaSnapshot {
  /** What it waits for, in words. */
  readonly waitsFor?: string;
  /** `waitsFor` in parts: texts, times and ids of sagas. */
  readonly waitsForParts?: readonly WaitPart[];
  /** What happened to it, with what operators did. Of a long one, its beginning and its end. */
  readonly timeline: readonly TimelineEntry[];
  /** Are `input` and results shown? If not: why. */
  readonly payloads: PayloadsShown;
  /** What its state allows, and this operator may do. */
  readonly actions: readonly AllowedCall[];
  /** The compensations that failed, if the saga is stuck while it compensates. */
  readonly failedCompensations?: readonly FailedCompensation[];
}

/** A state of a saga, as it is sent to those who watch it. */
export interface SentSaga {
  readonly id: string;
  readonly data: AdminSaga;
}

/** An operator action, with its text. */
export interface AdminHistoryEntry extends HistoryEntry {
  readonly text: string;
}

/** A compensation that failed permanently. */
export interface FailedCompensation {
  /** The step that it compensates. */
  readonly step: string;
  /** The method that failed; absent: this process does not have the saga, or the step is a sub-saga without one. */
  readonly method?: string;
}

/** A saga in the list. */
export interface AdminSummary extends SagaSummary {
  /** The compensations that failed, if the saga is stuck while it compensates. */
  readonly failedCompensations?: readonly FailedCompensation[];
}

/** A saga of many items has many more: browsers would take long to lay them out, and the last ones are what matters. */
const LONGEST_TIMELINE = 300;

/** What the admin shows of sagas. Everything that holds payloads comes from here, redacted. */
@Injectable()
export class SagaViews {
  constructor(
    @Inject(AdminRuntime) private readonly admin: AdminRuntime,
    @Inject(AdminAccess) private readonly access: AdminAccess,
  ) {}

  /**
   * One saga, if it may be looked at.
   * @throws SagaNotFoundError
   * @throws ForbiddenException
   */
  async saga(id: string, request: unknown): Promise<AdminSaga> {
    const snapshot = await this.look(id, request);
    const { saga, version } = snapshot;
    const { graph, find } = await this.graphs(saga, version);
    const { engine } = await this.admin.ready();
    const stored = await engine.load({ id: snapshot.id });
    // The graph that it goes by, which may be an older one than its class has.
    const own = stored && (await engine.graphOf(stored));
    const actions: AllowedCall[] = [];
    for (const action of stored ? allowedCalls(stored, own, engine.now()) : []) {
      const allowed = await this.access.allowed(action, { saga, id: snapshot.id }, request);
      if (allowed) actions.push(allowed);
    }
    const { waitingFor } = snapshot;
    const history = await this.admin.operations.history(snapshot.id);
    return {
      ...redactedSnapshot(snapshot, graph, find),
      ...(waitingFor && {
        waitsFor: describeWait(waitingFor),
        waitsForParts: partsOfWait(waitingFor),
      }),
      timeline: ends(timelineOf(snapshot, history.map(withoutGiven))),
      payloads: payloadsShown(graph, saga, version),
      actions,
      ...failuresOf(snapshot, graph),
    };
  }

  /**
   * The saga as it is now, then each later state, until it has ended, may not be looked at any more, or this process shuts
   * down. States that are outdated before they are read are left out.
   */
  events(id: string, request: unknown): Observable<SentSaga> {
    let newest: SagaUpdate | undefined;
    return this.admin.sagas.watch(id).pipe(
      tap((update) => (newest = update)),
      concatMap(async (update) => (update === newest ? [await this.saga(id, request)] : [])),
      mergeAll(),
      map((data) => ({ id: String(data.revision), data })),
      // The client connects again, perhaps to another process, and receives the reason if it may not.
      catchError(() => EMPTY),
    );
  }

  /**
   * Resolves once the saga has ended or needs attention, after `timeout` (ms), and when this process shuts down.
   * @throws SagaNotFoundError, ForbiddenException
   */
  async settled(id: string, timeout: number, request: unknown): Promise<void> {
    const saga = await this.look(id, request);
    try {
      await this.admin.sagas.wait(saga.id, { timeout });
    } catch (error) {
      if (!(error instanceof SagaTimeoutError || error instanceof SagaUnavailableError)) throw error;
    }
  }

  /** What cancelling it, or undoing it, would do. */
  async rollback(id: string, request: unknown): Promise<RollbackPlan> {
    const { saga, version } = await this.look(id, request);
    const plan = await this.admin.operations.previewRollback(id);
    const { graph, find } = await this.graphs(saga, version);
    return redactedPlan(plan, graph, find);
  }

  /** What operators did to it, oldest first. */
  async history(id: string, request: unknown): Promise<AdminHistoryEntry[]> {
    const { saga, version } = await this.look(id, request);
    const { graph, find } = await this.graphs(saga, version);
    const history = redactedHistory(await this.admin.operations.history(id), graph, find);
    return history.map((entry) => ({ ...entry, text: describeOperation(withoutGiven(entry)) }));
  }

  /** The graph that it goes by, which may be an older one than its class has. */
  async drawing(id: string, request: unknown): Promise<SagaDrawing> {
    await this.look(id, request);
    const { engine, graphs } = await this.admin.ready();
    const saga = await engine.load({ id: id.toLowerCase() });
    const graph = saga && (await engine.graphOf(saga));
    if (graph) return drawingOf(graph);
    const revisions = saga ? await graphs.stored([saga]) : [];
    const record = revisions.find(({ revision }) => revision === saga?.graphRevision) ?? revisions.at(-1);
    if (record) return drawingOfRecord(record.graph);
    throw new SagaNotFoundError(`The graph of saga ${id} is not stored.`);
  }

  /** Returns the sagas whose id, or whose correlation id, this is. */
  async named(text: string, limit: number): Promise<SagaSummary[]> {
    const { items } = await this.admin.sagas.find({ correlationId: text, limit });
    if (!isUuid(text) || items.some(({ id }) => id === text.toLowerCase())) return [...items];
    try {
      return [summaryOf(await this.admin.sagas.get(text)), ...items];
    } catch (error) {
      if (error instanceof SagaNotFoundError) return [...items];
      throw error;
    }
  }

  /** With the names of the compensations that failed. */
  async listed(summaries: readonly SagaSummary[]): Promise<AdminSummary[]> {
    const { registry } = await this.admin.ready();
    return summaries.map((summary) => {
      const { saga, version } = summary;
      const own = registry.all.find(({ graph }) => graph.name === saga && graph.version === version);
      return { ...summary, ...failuresOf(summary, own?.graph) };
    });
  }

  /** Returns the definitions of this process, by name, the newest version first. */
  async definitions(): Promise<AdminDefinition[]> {
    const { registry } = await this.admin.ready();
    return registry.all
      .map(({ graph }) => definitionOf(graph))
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : b.version - a.version));
  }

  /** Not to be shown as it is. */
  private look(id: string, request: unknown): Promise<SagaSnapshot> {
    return this.access.one({ kind: 'look' }, id, request);
  }

  private async graphs(
    name: string,
    version: number,
  ): Promise<{ graph: SagaGraph | undefined; find: GraphFinder }> {
    const { registry } = await this.admin.ready();
    const all = registry.all.map(({ graph }) => graph);
    return {
      graph: all.find((graph) => graph.name === name && graph.version === version),
      find: (wanted) => all.filter((graph) => graph.name === wanted),
    };
  }
}

/** The first entry and the last ones. */
function ends(timeline: readonly TimelineEntry[]): TimelineEntry[] {
  return [...timeline.slice(0, 1), ...timeline.slice(1).slice(1 - LONGEST_TIMELINE)];
}

function failuresOf(
  { status, heldPhase, step }: Pick<SagaSummary, 'status' | 'heldPhase' | 'step'>,
  graph: SagaGraph | undefined,
): Pick<AdminSummary, 'failedCompensations'> {
  if (status !== 'stuck' || heldPhase !== 'compensating' || step === '') return {};
  const failedCompensations = step.split(', ').map((name) => {
    const method = graph?.steps.get(name)?.compensate;
    return { step: name, ...(method !== undefined && { method }) };
  });
  return { failedCompensations };
}

function summaryOf(saga: SagaSnapshot): SagaSummary {
  const { id, version, status, heldPhase, revision, correlationId, step, failure, tags } = saga;
  const { createdAt, updatedAt, finishedAt } = saga;
  return {
    ...{ id, saga: saga.saga, version, status, heldPhase, revision, correlationId, step, tags },
    ...{ error: failure?.error?.message, createdAt, updatedAt, finishedAt },
  };
}
