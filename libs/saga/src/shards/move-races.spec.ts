import type { MovedNote } from '../engine/ports/shard-moves.js';
import type { StoreTarget } from '../engine/ports/saga-store.js';
import { locate } from './find-shard.js';
import { Shard } from './shard.js';

const ID = '01900000-0000-7000-8000-000000000001';
const NOTE: MovedNote = { saga: ID, move: 'm', to: 'us', state: 'sealed' };

/** A shard of which each look sees what is stored at that moment, and after which something happens. */
class Scripted extends Shard {
  has = false;
  note: MovedNote | undefined;
  readonly next: (() => void)[] = [];

  override get calls(): Shard['calls'] {
    return { load: async () => this.seen(this.has ? { id: ID } : undefined) } as unknown as Shard['calls'];
  }

  override noteOf(_: StoreTarget): Promise<MovedNote | undefined> {
    return Promise.resolve(this.seen(this.note));
  }

  private seen<T>(value: T): T {
    this.next.shift()?.();
    return value;
  }
}

const look = (...shards: Scripted[]) => locate({ id: ID }, shards.slice(0, 1), shards);

test('a saga that leaves its shard between the looks for it and for its note is found', async () => {
  const [eu, us] = [new Scripted('eu', 0), new Scripted('us', 0)];
  eu.has = true;
  // Whatever is looked for first: the saga leaves right after it.
  eu.next.push(() => {
    [eu.has, eu.note, us.has] = [false, NOTE, true];
  });
  expect((await look(eu, us))?.name).toMatch(/^(eu|us)$/);
});

test('a saga that comes back between the looks for it and for its note is found', async () => {
  const [eu, us] = [new Scripted('eu', 0), new Scripted('us', 0)];
  eu.note = NOTE;
  eu.next.push(() => {
    [eu.has, eu.note] = [true, { ...NOTE, state: 'returned' }];
  });
  expect(await look(eu, us)).toBe(eu);
});

test('a saga that came back once, and was deleted since, does not exist', async () => {
  const [eu, us] = [new Scripted('eu', 0), new Scripted('us', 0)];
  eu.note = { ...NOTE, state: 'returned' };
  expect(await look(eu, us)).toBeUndefined();
});

test('a saga whose move was interrupted is not taken for one that does not exist', async () => {
  const [eu, us] = [new Scripted('eu', 0), new Scripted('us', 0)];
  eu.note = NOTE;
  await expect(look(eu, us)).rejects.toThrow(
    `Saga ${ID} is on its way from shard 'eu' to shard 'us'. Repeat the call later.`,
  );
});
