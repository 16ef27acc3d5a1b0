import type { Type } from '@nestjs/common';
import { analyzeSaga, buildSagaGraph } from '../build/build-saga-graph.js';
import { linkSubSagas } from './link-sub-sagas.js';
import { Saga } from '../decorators/saga.decorator.js';
import { SubSaga } from '../decorators/sub-saga.decorator.js';
import type { SubSagaOptions } from '../options/step-options.js';

/** A saga whose steps each start another. */
function sagaOf(name: string, steps: Record<string, [child: () => Type, options?: SubSagaOptions]>): Type {
  const type = { [name]: class {} }[name]! as Type;
  for (const [step, [child, options]] of Object.entries(steps)) {
    SubSaga(child, options)(
      Object.assign(type.prototype as object, { [step]() {} }) as never,
      step as never,
      {},
    );
  }
  Saga()(type);
  return type;
}
const problems = (...types: Type[]) =>
  linkSubSagas(types.map((type) => ({ type, graph: buildSagaGraph(type) })));

const SHIPMENT = sagaOf('ShipmentSaga', {});
/** A saga has at least one step, so one that is started has one that starts another. */
const LEAF = class LeafSaga {};
const known = {
  type: LEAF as Type,
  graph: { ...buildSagaGraph(sagaOf('Any', { a: [() => LEAF] })), steps: new Map() },
};
const withLeaf = (...types: Type[]) =>
  linkSubSagas([known, ...types.map((type) => ({ type, graph: buildSagaGraph(type) }))]);

describe('sub-sagas', () => {
  it('may be any saga of the application', () => {
    expect(withLeaf(sagaOf('Order', { ship: [() => LEAF], back: [() => LEAF] }))).toEqual([]);
  });

  it('are named when they are no saga of it, with the fix', () => {
    expect(problems(sagaOf('OrderSaga', { ship: [() => SHIPMENT] }))).toEqual([
      "OrderSaga, step 'ship': ShipmentSaga is not a saga of this application. Decorate it with @Saga() and add it to " +
        'the providers of a module',
    ]);
  });

  it('are named when the function gives no class, as in a circular import', () => {
    const [problem] = problems(sagaOf('OrderSaga', { ship: [() => undefined as never] }));
    expect(problem).toContain("OrderSaga, step 'ship': the function given to @SubSaga returned undefined");
    expect(problem).toContain('two files import each other');
  });

  it('are named when the function throws', () => {
    const thrower = (): never => {
      throw new Error('not yet');
    };
    expect(problems(sagaOf('OrderSaga', { ship: [thrower] }))).toEqual([
      "OrderSaga, step 'ship': the function given to @SubSaga threw: not yet",
    ]);
  });

  it('may not start themselves for ever, directly or through others; each circle is named once', () => {
    const types: Record<string, Type> = {};
    types.a = sagaOf('A', { x: [() => types.b!], y: [() => types.a!] });
    types.b = sagaOf('B', { x: [() => types.a!] });
    expect(problems(types.a, types.b)).toEqual([
      'A starts B starts A, and so on without end. Give one of the @SubSaga steps a `when` that ends the recursion',
      'A starts A, and so on without end. Give one of the @SubSaga steps a `when` that ends the recursion',
    ]);
  });

  it('are asked for by each step a few times, however many paths lead to them', () => {
    let asked = 0;
    const levels: Type[][] = [[LEAF, LEAF]];
    for (let level = 1; level <= 10; level += 1) {
      const [left, right] = levels.at(-1)!;
      const child = (type: Type) => () => ((asked += 1), type);
      const named = (name: string) => sagaOf(name, { x: [child(left!)], y: [child(right!)] });
      levels.push([named(`Left${level}`), named(`Right${level}`)]);
    }
    expect(withLeaf(...levels.slice(1).flat())).toEqual([]);
    expect(asked).toBeLessThanOrEqual(10 * 2 * 2 * 3);
  });

  it('may start themselves as long as a condition says so', () => {
    const types: Record<string, Type> = {};
    types.a = sagaOf('A', { x: [() => types.a!, { when: () => false }] });
    expect(problems(types.a)).toEqual([]);
  });
});

describe('the options of @SubSaga', () => {
  const found = (options: object, child: unknown = () => LEAF) =>
    analyzeSaga(sagaOf('OrderSaga', { ship: [child as () => Type, options as SubSagaOptions] })).map(
      ({ step, problem, fix }) => `${step}: ${problem}; ${fix}`,
    );

  it('are those that make sense for a step that waits for another saga', () => {
    const options: SubSagaOptions = { delay: 10, when: () => true, pivot: true, retry: { attempts: 2 } };
    const graph = buildSagaGraph(sagaOf('OrderSaga', { ship: [() => LEAF, options] }));
    expect(graph.steps.get('ship')).toMatchObject({
      kind: 'sub-saga',
      delay: 10,
      pivot: true,
    });
  });

  it.each(['timeout', 'forEach', 'idempotent', 'transactional', 'probe', 'rateLimit'])(
    'do not include %s',
    (option) => {
      expect(found({ [option]: undefined })[0]).toContain(
        `ship: @SubSaga has the unknown option '${option}'`,
      );
    },
  );

  it('come after a function, not after the class itself', () => {
    expect(found({}, LEAF)).toEqual([]); // a class is a function: linking says so
    expect(found({}, 'ShipmentSaga')[0]).toContain("@SubSaga was given 'ShipmentSaga'; give it a function");
  });
});
