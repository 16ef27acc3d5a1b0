import { itemKey } from '../../saga/src/definition/graph/saga-graph.js';
import { StepMap } from '../../saga/src/machine/data/step-map.js';
import { PENDING } from '../../saga/src/machine/saga-state.js';
import { fromText, textOf } from './stored-text.js';

test('a value comes back as it was: maps, what is undefined in a list, and what is null', () => {
  const value = {
    steps: new Map([['a', { result: 1, retryAt: null, items: [undefined, 1] }]]),
    tags: { $map: 'a tag' },
  };
  const text = textOf<typeof value>();
  expect(text.deserialize(text.serialize(value))).toStrictEqual(value);
  const without = { ...value, tags: undefined as never };
  expect(Object.keys(text.deserialize(text.serialize(without)))).toEqual(['steps']);
  expect(fromText(Buffer.from(text.serialize(value)).toString())).toEqual(value);
});

test('the steps of a saga with items come back as a map', () => {
  const steps = StepMap.with(new Map(), itemKey('ship', 0), PENDING);
  const text = textOf<typeof steps>();
  expect(text.deserialize(text.serialize(steps))).toEqual(new Map(steps));
});

test('nothing is a value, too', () => {
  const text = textOf<undefined>();
  expect(text.deserialize(text.serialize(undefined))).toBeUndefined();
});

test('an object with accessors is refused: it would come back without them', () => {
  class Run {
    get id(): string {
      return '1';
    }
  }
  const text = textOf<{ readonly runs: readonly Run[] }>();
  expect(() => text.serialize({ runs: [new Run()] })).toThrow('Run cannot be stored');
});
