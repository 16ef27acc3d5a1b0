import { SagaUnavailableError } from '../../errors.js';
import { systemClock } from '../../shared/clock.js';
import { GroupWriter, type GroupWriterOptions } from './group-writer.js';

class Transient extends Error {}
/** An outage of which it is not known whether it ends. */
class Strange extends Error {}

/** A database in which each statement waits until the test sets its result. */
class Statements {
  readonly batches: number[][] = [];
  private readonly ends: ((error?: Error) => void)[] = [];
  private readonly arrivals: (() => void)[] = [];
  /** Statements are answered at once. */
  immediate = false;
  refuse: (item: number) => Error | undefined = () => undefined;

  readonly write = async (batch: number[]): Promise<string[]> => {
    this.batches.push([...batch]);
    for (const arrived of this.arrivals.splice(0)) arrived();
    if (!this.immediate) {
      const error = await new Promise<Error | undefined>((resolve) => this.ends.push(resolve));
      if (error) throw error;
    }
    const refused = batch.map(this.refuse).find((error) => error !== undefined);
    if (refused) throw refused;
    return batch.map((item) => `written ${item}`);
  };

  async next(count: number): Promise<void> {
    while (this.batches.length < count) await new Promise<void>((resolve) => this.arrivals.push(resolve));
  }

  end(error?: Error): void {
    this.ends.shift()!(error);
  }
}

function writerTo(statements: Statements, given: Partial<GroupWriterOptions<number, string>> = {}) {
  return new GroupWriter<number, string>({
    clock: systemClock,
    random: Math.random,
    write: statements.write,
    isOutage: (error) => error instanceof Transient || error instanceof Strange,
    isTransient: (error) => error instanceof Transient,
    lanes: 1,
    maxBatch: 250,
    itemsPerLane: 40,
    patience: 30_000,
    ...given,
  });
}

const range = (count: number) => Array.from({ length: count }, (_, n) => n);

describe('items', () => {
  test('of a megabyte are answered one in each turn of the event loop, and small ones all in one', async () => {
    const turnsOf = async (size: number): Promise<number[]> => {
      const statements = new Statements();
      statements.immediate = true;
      const writer = writerTo(statements, { sizeOf: () => size });
      let turn = 0;
      let ended = false;
      const count = (): void => {
        turn += 1;
        if (!ended) setImmediate(count);
      };
      const turns = Promise.all(range(4).map((item) => writer.write(item).then(() => turn)));
      setImmediate(count);
      return turns.finally(() => (ended = true));
    };
    expect(new Set(await turnsOf(2 ** 20)).size).toBe(4);
    expect(new Set(await turnsOf(1_000)).size).toBe(1);
  });

  test('of a megabyte are sent in a turn of the event loop each, side by side', async () => {
    const statements = new Statements();
    const writer = writerTo(statements, { sizeOf: () => 2 ** 20, maxSize: 2 ** 20, lanes: 3 });
    const written = Promise.all([1, 2, 3].map((item) => writer.write(item)));
    const sent = [statements.batches.length];
    while (statements.batches.length < 3) {
      await new Promise((resolve) => setImmediate(resolve));
      sent.push(statements.batches.length);
    }
    expect(statements.batches).toEqual([[1], [2], [3]]);
    // No turn sends two of them.
    expect(sent.every((count, n) => count - (sent[n - 1] ?? 0) <= 1)).toBe(true);
    for (const _ of range(3)) statements.end();
    await written;
  });

  test('are written immediately when nothing is in flight', async () => {
    const statements = new Statements();
    const written = writerTo(statements).write(1);
    await statements.next(1);
    statements.end();
    expect(await written).toBe('written 1');
  });

  test('of one turn of the event loop share a statement', async () => {
    const statements = new Statements();
    statements.immediate = true;
    const writer = writerTo(statements);
    expect(await Promise.all([1, 2, 3].map((n) => writer.write(n)))).toEqual(
      [1, 2, 3].map((n) => `written ${n}`),
    );
    expect(statements.batches).toEqual([[1, 2, 3]]);
  });

  test('gather while a statement is in flight, in order, and go together in the next', async () => {
    const statements = new Statements();
    const writer = writerTo(statements);
    const first = writer.write(0);
    await statements.next(1);
    const others = range(30).map((n) => writer.write(n + 1));
    await new Promise(setImmediate);
    expect(statements.batches).toEqual([[0]]);
    statements.end();
    await first;
    await statements.next(2);
    statements.end();
    await Promise.all(others);
    expect(statements.batches).toEqual([[0], range(30).map((n) => n + 1)]);
  });

  test('are no more in one statement than its largest batch', async () => {
    const statements = new Statements();
    statements.immediate = true;
    const writer = writerTo(statements, { maxBatch: 4 });
    await Promise.all(range(10).map((n) => writer.write(n)));
    expect(statements.batches.map((batch) => batch.length)).toEqual([4, 4, 2]);
  });

  test('are no larger together than its largest statement, but for one that is so by itself', async () => {
    const statements = new Statements();
    statements.immediate = true;
    const writer = writerTo(statements, { sizeOf: (item) => item, maxSize: 10 });
    await Promise.all([4, 6, 1, 12, 3, 3, 3, 3].map((size) => writer.write(size)));
    expect(statements.batches).toEqual([[4, 6], [1], [12], [3, 3, 3], [3]]);
  });

  test('open another lane only when many wait, and never more than there are', async () => {
    const statements = new Statements();
    const writer = writerTo(statements, { lanes: 2, itemsPerLane: 5, maxBatch: 5 });
    const written = [writer.write(0)];
    await statements.next(1);
    written.push(...range(4).map((n) => writer.write(n + 1)));
    await new Promise(setImmediate);
    expect(statements.batches).toHaveLength(1);
    written.push(...range(20).map((n) => writer.write(n + 5)));
    await new Promise(setImmediate);
    expect(statements.batches.map((batch) => batch.length)).toEqual([1, 5]);
    for (let done = 1; statements.batches.flat().length < 25; done += 1) {
      statements.end();
      await statements.next(done + 2);
    }
    statements.immediate = true;
    statements.end();
    statements.end();
    await Promise.all(written);
  });

  test('that come while the last statement of a lane ends are not forgotten', async () => {
    const statements = new Statements();
    const writer = writerTo(statements, { lanes: 4, itemsPerLane: 2 });
    statements.immediate = true;
    const written: Promise<string>[] = [];
    for (let n = 0; n < 200; n += 1) {
      written.push(writer.write(n));
      if (n % 3 === 0) await Promise.resolve();
      if (n % 7 === 0) await new Promise(setImmediate);
    }
    expect(await Promise.all(written)).toHaveLength(200);
    expect(statements.batches.flat().sort((a, b) => a - b)).toEqual(range(200));
  });
});

describe('an item that the database refuses', () => {
  test('fails alone; the others of its batch are written, each once', async () => {
    const statements = new Statements();
    statements.immediate = true;
    const bad = new Error('too large');
    statements.refuse = (item) => (item === 13 ? bad : undefined);
    const writer = writerTo(statements);
    const settled = await Promise.allSettled(range(50).map((n) => writer.write(n)));
    expect(settled[13]).toEqual({ status: 'rejected', reason: bad });
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(49);
    const succeeded = statements.batches.filter((batch) => !batch.includes(13)).flat();
    expect(succeeded.sort((a, b) => a - b)).toEqual(range(50).filter((n) => n !== 13));
    // Halving finds it: not each is tried by itself.
    expect(statements.batches.length).toBeLessThan(20);
  });
});

describe('a transient error', () => {
  test('is tried again, later each time, until it is gone', async () => {
    const statements = new Statements();
    statements.immediate = true;
    let failures = 4;
    statements.refuse = () => (failures-- > 0 ? new Transient('connection lost') : undefined);
    const waits: number[] = [];
    const writer = writerTo(statements, { onOutage: (_, wait) => waits.push(wait) });
    expect(await writer.write(1)).toBe('written 1');
    expect(waits).toHaveLength(4);
    waits.forEach((wait, n) => {
      expect(wait).toBeLessThanOrEqual(20 * 2 ** n);
      expect(wait).toBeGreaterThanOrEqual(10 * 2 ** n);
    });
  });

  test('past the patience fails the items, and says that the write may have arrived', async () => {
    const statements = new Statements();
    statements.immediate = true;
    statements.refuse = () => new Transient('connection lost');
    const failed = writerTo(statements, { patience: 40 }).write(1);
    await expect(failed).rejects.toThrow(SagaUnavailableError);
    await expect(failed).rejects.toThrow(/connection lost.*It is unknown whether/);
  });

  test('within a batch that is being halved for another item’s sake is tried again, too', async () => {
    const statements = new Statements();
    statements.immediate = true;
    let failures = 2;
    statements.refuse = (item) => {
      if (item === 3) return new Error('too large');
      return item === 0 && failures-- > 0 ? new Transient('connection lost') : undefined;
    };
    const writer = writerTo(statements);
    const settled = await Promise.allSettled(range(4).map((n) => writer.write(n)));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
  });
});

test('an item to which the database never answers as it should holds up no other, and closing waits for it', async () => {
  const statements = new Statements();
  statements.immediate = true;
  let isDamaged = true;
  statements.refuse = (item) => (isDamaged && item === 3 ? new Strange('the row is damaged') : undefined);
  const clock = { ...systemClock, after: (_: number, call: () => void) => systemClock.after(1, call) };
  const writer = writerTo(statements, { clock, patience: Infinity });
  const settled: number[] = [];
  const write = (n: number) => writer.write(n).then(() => settled.push(n));
  const first = range(5).map(write);
  await Promise.all(first.filter((_, n) => n !== 3));
  // Its lane is free.
  await write(5);
  expect(settled.sort()).toEqual([0, 1, 2, 4, 5]);
  isDamaged = false;
  await first[3];
  await writer.close();
});

describe('closing', () => {
  test('waits for everything given so far', async () => {
    const statements = new Statements();
    const writer = writerTo(statements);
    const written = [writer.write(1)];
    await statements.next(1);
    written.push(writer.write(2));
    let closed = false;
    const closing = writer.close().then(() => (closed = true));
    statements.end();
    await statements.next(2);
    expect(closed).toBe(false);
    statements.end();
    await closing;
    expect(await Promise.all(written)).toEqual(['written 1', 'written 2']);
  });

  test('makes transient errors final, so that it ends', async () => {
    const statements = new Statements();
    const writer = writerTo(statements, { patience: Infinity });
    const written = writer.write(1);
    await statements.next(1);
    const closing = writer.close();
    statements.end(new Transient('connection lost'));
    await expect(written).rejects.toThrow(SagaUnavailableError);
    await closing;
  });

  test('of an idle writer is immediate', async () => {
    await writerTo(new Statements()).close();
  });
});
