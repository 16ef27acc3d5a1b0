import type { StoredSaga, StoredSignal } from '../../../engine/ports/stored-saga.js';
import type { Statements } from '../sql-texts.js';
import {
  type SignalJson,
  ReadSteps,
  type StepJson,
  type StoredSagaRow,
  toStoredSaga,
  toStoredSignal,
} from './stored-saga-row.js';

/** Sends a statement. */
export type Query = <Row>(text: string, parameters: unknown[]) => Promise<Row[]>;

export interface ReadBounds {
  /** Bytes of users' data that one statement answers with; a single value may be larger. Default: 4 MB. */
  readonly pageBytes?: number;
}

/** The driver parses the steps of a saga at once, while nothing else happens in the process. */
export const PAGE_BYTES = 4 * 2 ** 20;

/** The bytes of a part of a saga's steps: they arrive together, and each is parsed by itself. */
const PART_BYTES = 2 ** 20;

/** Leases that were just taken. */
export interface Taken {
  readonly ids: readonly string[];
  readonly epochs: readonly number[];
}

type PagedRow = StoredSagaRow & { readonly more: boolean };

interface SignalPartRow {
  readonly more: boolean;
  readonly signal: SignalJson;
}

/**
 * Reads whole sagas, by answers that are bounded in bytes: of many sagas a page at a time, and of one that is larger than
 * a page its steps and signals in parts. What fits a page is read by one statement.
 */
export class SagaReader {
  constructor(
    private readonly query: Query,
    private readonly sql: Statements,
    readonly pageBytes: number,
  ) {}

  /** One saga; undefined: there is none. */
  async byId(id: string): Promise<(StoredSagaRow & { readonly now: number }) | undefined> {
    for (;;) {
      const statement = this.sql.loadById({ id, pageBytes: this.pageBytes });
      const [row] = await this.query<StoredSagaRow & { now: number }>(...statement);
      if (!row) return undefined;
      const whole = await this.whole(row);
      // It has gone on while its parts were read: they are not of one moment.
      if (whole) return whole;
    }
  }

  /** Returns those of these sagas that are `settled`, have `ended`, or are `present`. */
  async among(ids: readonly string[], which: 'settled' | 'ended' | 'present'): Promise<StoredSaga[]> {
    const sagas: StoredSaga[] = [];
    const pages = this.pages((read) =>
      this.sql[which]({ ids: ids.filter((id) => !read.has(id)), pageBytes: this.pageBytes }),
    );
    for await (const page of pages) sagas.push(...page);
    return sagas;
  }

  /** Leases that were just taken, but for those that are another's by now, a page at a time. */
  taken({ ids, epochs }: Taken, worker: string): AsyncGenerator<StoredSaga[]> {
    return this.pages((read) => {
      const left = [...ids.keys()].filter((n) => !read.has(ids[n]!));
      const held = { ids: left.map((n) => ids[n]), epochs: left.map((n) => epochs[n]), worker };
      return this.sql.claimed({ ...held, pageBytes: this.pageBytes });
    });
  }

  /** What a saga was sent and has not taken yet, in order. */
  async pendingSignals(id: string): Promise<readonly StoredSignal[]> {
    return (await this.signalsOf(id)).map(toStoredSignal);
  }

  /** A row with its steps and signals; undefined: it has changed meanwhile. */
  async whole<R extends StoredSagaRow>(row: R): Promise<R | undefined> {
    if (!row.inParts) return row;
    const { id, epoch, checkpoints } = row;
    const [steps, signals] = [await this.stepsOf(row), await this.signalsOf(id)];
    const [now] = await this.query<{ epoch: number; checkpoints: number }>(...this.sql.stands({ id }));
    if (now?.epoch !== epoch || now.checkpoints !== checkpoints) return undefined;
    return { ...row, steps, signals: signals.length > 0 ? signals : null };
  }

  private async *pages(
    statementWithout: (read: ReadonlySet<string>) => [text: string, parameters: unknown[]],
  ): AsyncGenerator<StoredSaga[]> {
    const read = new Set<string>();
    for (;;) {
      const rows = await this.query<PagedRow>(...statementWithout(read));
      const page: StoredSaga[] = [];
      for (const row of rows) {
        const whole = await this.whole(row);
        if (!whole) continue;
        read.add(row.id);
        page.push(toStoredSaga(whole));
      }
      yield page;
      if (!rows[0]?.more && rows.every(({ id }) => read.has(id))) return;
    }
  }

  private async stepsOf(row: StoredSagaRow): Promise<ReadSteps> {
    const steps = new ReadSteps(row);
    const bytes = Math.min(this.pageBytes, PART_BYTES);
    for (let after = ''; ;) {
      const rows = await this.query<{ step: StepJson }>(...this.sql.stepPart({ id: row.id, after, bytes }));
      if (rows.length === 0) return steps;
      steps.add(rows.map(({ step }) => step));
      after = rows.at(-1)!.step.name;
    }
  }

  private async signalsOf(id: string): Promise<SignalJson[]> {
    const signals: SignalJson[] = [];
    for (;;) {
      const after = signals.at(-1)?.number ?? 0;
      const statement = this.sql.signalPart({ id, after, bytes: this.pageBytes });
      const rows = await this.query<SignalPartRow>(...statement);
      for (const { signal } of rows) signals.push(signal);
      if (!rows[0]?.more) return signals;
    }
  }
}
