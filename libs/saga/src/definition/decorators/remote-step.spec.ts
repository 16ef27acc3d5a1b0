import type { Type } from '@nestjs/common';
import { buildSagaGraph } from '../build/build-saga-graph.js';
import { bindGraph } from '../describe/bind-graph.js';
import { diffGraphs } from '../describe/diff-graphs.js';
import { recordOf } from '../describe/graph-record.js';
import { linkSubSagas } from '../graph/link-sub-sagas.js';
import { mermaidOf } from '../describe/mermaid-of-graph.js';
import { recordWith } from '../../../../../test/fixtures/record-of.js';
import { RemoteStep } from './remote-step.decorator.js';
import { problemsOf, sagaOf } from '../../../../../test/fixtures/saga-of.js';
import { descriptionOf } from '../describe/saga-description.js';
import { Saga } from './saga.decorator.js';

/** A saga of one step, which asks for this handler. */
function sagaWith(handler: unknown, options: object = {}): Type {
  class OrderSaga {
    reserve() {}
    undo() {}
  }
  RemoteStep(handler as string, options)(OrderSaga.prototype as never, 'reserve', {});
  Saga()(OrderSaga);
  return OrderSaga;
}
const deployed = (saga: Type) => ({ graph: buildSagaGraph(saga), methods: new Set(['undo']) });

describe('a remote step', () => {
  it('knows the handler by its name and version alone', () => {
    const { steps } = buildSagaGraph(sagaWith('stock.reserve'));
    expect(steps.get('reserve')).toMatchObject({
      kind: 'remote',
      remote: { name: 'stock.reserve', version: 1 },
    });
    expect(linkSubSagas([{ type: sagaWith('x'), graph: buildSagaGraph(sagaWith('x')) }])).toEqual([]);
  });

  it('is recorded with the name of the handler, and not its version, which may change', () => {
    expect(recordOf(buildSagaGraph(sagaWith('stock.reserve', { version: 2, pivot: true })))).toEqual({
      steps: [{ name: 'reserve', kind: 'remote', handler: 'stock.reserve', after: [], pivot: true }],
    });
  });

  it('is described, and drawn as a flag, with the handler’s name', () => {
    const one = descriptionOf(buildSagaGraph(sagaWith('stock.reserve')));
    expect(one.steps[0]).toMatchObject({
      kind: 'remote',
      handler: { name: 'stock.reserve', version: 1 },
    });
    expect(mermaidOf(one)).toContain('reserve>"reserve<br/>handler stock#46;reserve"]');
    const two = descriptionOf(buildSagaGraph(sagaWith('stock', { version: 2 })));
    expect(mermaidOf(two)).toContain('reserve>"reserve<br/>handler stock#64;2"]');
  });

  test.each<[string, unknown, object, string]>([
    [
      'no name',
      undefined,
      {},
      "@RemoteStep was given undefined as the handler's name; give 1 to 192 characters",
    ],
    [
      'a name with separators',
      'stock reserve',
      {},
      "the handler's name 'stock reserve' contains characters that idempotency",
    ],
    ['a version', 'stock', { version: 1.5 }, 'version is 1.5; give a whole number from 1'],
    [
      'an option',
      'stock',
      { forEach: () => [] },
      "@RemoteStep has the unknown option 'forEach'. The options are: compensate, after",
    ],
  ])('is refused with a wrong handler: %s', (_, handler, options, problem) => {
    expect(problemsOf(sagaWith(handler, options))).toContain(`OrderSaga: step 'reserve': ${problem}`);
  });
});

test('the names of the sagas in which handlers run are kept for them', () => {
  expect(problemsOf(sagaOf({ a: {} }, { name: 'handler:stock' }))).toContain(
    "@Saga name 'handler:stock' begins with 'handler:', which is reserved for step handlers; give it another name",
  );
});

describe('a graph with a remote step that has changed', () => {
  const asks = (handler: string) => recordWith({ reserve: { kind: 'remote', handler } });

  it('is named where another handler is asked', () => {
    expect(diffGraphs(asks('stock'), asks('store')).differences).toEqual([
      "step 'reserve' calls handler 'store' instead of 'stock'",
    ]);
  });

  it('is named where it is another kind of step', () => {
    expect(diffGraphs(asks('stock'), recordWith({ reserve: {} })).differences).toEqual([
      "step 'reserve' is now a step, and was a remote step",
    ]);
  });

  it('is bound to the version of the handler that is asked for now', () => {
    const { graph, gaps } = bindGraph(asks('stock'), deployed(sagaWith('stock', { version: 2 })));
    expect(gaps).toEqual(new Map());
    expect(graph.steps.get('reserve')).toMatchObject({ remote: { name: 'stock', version: 2 } });
  });

  it('cannot be run by a class that asks another handler, and is undone where the first one is', () => {
    const { gaps } = bindGraph(asks('stock'), deployed(sagaWith('store')));
    expect(Object.fromEntries(gaps)).toEqual({
      reserve: { run: "now calls handler 'store' instead of 'stock'" },
    });
  });

  it('can be undone without the step', () => {
    const { gaps, graph } = bindGraph(asks('stock'), deployed(sagaOf({ other: {} })));
    expect(Object.fromEntries(gaps)).toEqual({ reserve: { run: 'was removed' } });
    expect(graph.steps.get('reserve')).toMatchObject({ kind: 'remote', remote: { name: 'stock' } });
  });
});
