import { randomUUID } from 'node:crypto';
import type { Edit } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { NewSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { type Called, running, started } from './called.js';
import { checkpointOf, LEASE, newSagas } from './store-calls.js';

/** The calls for sagas that have started others, and for the semantic locks that they share. */
export const FAMILY_CALLS: Record<string, (on: Called) => Promise<unknown>> = {
  'a child, and its end': async (on) => {
    const saga = await started(on);
    const parent = { id: saga.id, step: 'child' };
    const child = { ...newSagas({ name: 'child' }, 1)[0]!, parent };
    const messages = [{ id: randomUUID(), topic: 'a', key: 'b', type: 'c', payload: '1', headers: {} }];
    await on.store.checkpoint([
      { ...checkpointOf(saga, ['reserve']), starts: [child], messages, release: {} },
    ]);
    const { state, ...checkpoint } = checkpointOf(child, ['reserve']);
    await on.store.checkpoint([
      { ...checkpoint, epoch: 0, parent, state: { ...state, status: 'completed' }, release: {} },
    ]);
  },
  'the end of a child with a lock': async (on) => {
    const parent = { id: (await started(on)).id, step: 'child' };
    const child = await started(on, { name: 'child', lockKey: 'k' });
    const { state, ...checkpoint } = checkpointOf(child, ['reserve']);
    const lock = { name: 'child', key: 'k' };
    await on.store.checkpoint([
      { ...checkpoint, epoch: 0, parent, lock, state: { ...state, status: 'completed' }, release: {} },
    ]);
  },
  'sub-sagas with the lock of their parent, which ends first, and then is undone': async (on) => {
    const name = `family-${randomUUID()}`;
    const claim = () => on.store.claim({ lease: LEASE, sagas: [{ name, version: 1 }], limit: 10 });
    const saga = await started(on, { name, lockKey: 'k', leased: false });
    const { epoch } = (await claim()).sagas[0]!;
    const children = newSagas({ name, lockKey: 'k' }, 2).map((child) => ({
      ...child,
      parent: { id: saga.id, step: 'reserve' },
    }));
    const { state, ...checkpoint } = checkpointOf(saga, ['reserve']);
    await on.store.checkpoint([{ ...checkpoint, state, epoch, starts: children }]);
    expect((await claim()).sagas).toHaveLength(2);
    const to = (status: 'completed' | 'compensating', due: boolean): Edit => ({
      ...{ state: { ...state, status, failure: { kind: 'undone' } }, step: '', due },
    });
    await on.store.edit(saga, () => to('completed', false));
    await on.store.edit(saga, () => to('compensating', true));
    expect((await claim()).sagas).toEqual([]);
    for (const child of children) await on.store.edit(child, () => to('completed', false));
    expect((await on.store.load(saga))!.lock).toMatchObject({ held: true });
  },
  'sub-sagas that would wait for each other’s parents, one of them undone': async (on) => {
    const names = [`family-${randomUUID()}`, `family-${randomUUID()}`] as const;
    const claim = async (name: string) =>
      (await on.store.claim({ lease: LEASE, sagas: [{ name, version: 1 }], limit: 10 })).sagas;
    const parents: NewSaga[] = [];
    const children: NewSaga[] = [];
    for (const name of names) {
      parents.push(await started(on, { name, lockKey: 'k', leased: false }));
      await claim(name);
    }
    for (const [n, saga] of parents.entries()) {
      const [child] = newSagas({ name: names[1 - n], lockKey: 'k' }, 1) as [NewSaga];
      const starts = [{ ...child, parent: { id: saga.id, step: 'reserve' } }];
      await on.store.checkpoint([{ ...checkpointOf(saga, ['reserve']), starts }]);
      children.push(child);
    }
    const to = (status: 'completed' | 'compensating', due: boolean): Edit => ({
      ...{ state: { ...running(parents[0]!), status, failure: { kind: 'undone' } }, step: '', due },
    });
    expect(await claim(names[1])).toEqual([]);
    expect(await claim(names[0])).toMatchObject([{ deadlock: { holder: { id: parents[0]!.id } } }]);
    await on.store.edit(children[1]!, () => to('completed', false));
    await on.store.edit(children[1]!, () => to('compensating', true));
    expect(await claim(names[0])).toEqual([]);
    expect(await claim(names[1])).toMatchObject([{ id: children[0]!.id, deadlock: {} }]);
  },
  'a publishing end of a saga with a lock': async (on) => {
    const saga = await started(on, { lockKey: 'k' });
    const { state, ...checkpoint } = checkpointOf(saga, ['reserve']);
    const messages = [{ id: randomUUID(), topic: 'a', key: 'b', type: 'c', payload: '1', headers: {} }];
    const lock = { name: 'order', key: 'k' };
    await on.store.checkpoint([
      { ...checkpoint, epoch: 0, messages, lock, state: { ...state, status: 'completed' }, release: {} },
    ]);
  },
};
