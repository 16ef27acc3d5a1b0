import type { Type } from '@nestjs/common';
import { SagaDefinitionError } from '../../errors.js';
import { buildHandlerGraphs } from './build-handler-graphs.js';
import { recordOf } from '../describe/graph-record.js';
import { StepHandler } from '../decorators/step-handler.decorator.js';

/** A provider whose handlers have these names and options; `undo` and `look` are plain methods. */
function providerOf(...handlers: (readonly [name: unknown, options?: object])[]): Type {
  class StockHandlers {
    undo() {}
    look() {}
  }
  for (const [index, [name, options]] of handlers.entries()) {
    const method = `handle${index}`;
    Object.assign(StockHandlers.prototype, { [method]() {} });
    StepHandler(name as string, options)(StockHandlers.prototype, method as never, {});
  }
  return StockHandlers;
}

function problemsOf(provider: Type): string {
  try {
    buildHandlerGraphs(provider);
  } catch (error) {
    expect(error).toBeInstanceOf(SagaDefinitionError);
    return (error as Error).message;
  }
  throw new Error('graphs were built where problems were expected');
}

const graphOf = (...handler: Parameters<typeof providerOf>[0]) =>
  buildHandlerGraphs(providerOf(handler))[0]!.graph;

describe('the saga of a handler', () => {
  it('is named after it, and has one step of its name', () => {
    const graph = graphOf('stock.reserve', { compensate: 'undo' });
    expect(graph).toMatchObject({ name: 'handler:stock.reserve', version: 1, onFailure: 'compensate' });
    expect(recordOf(graph)).toEqual({
      steps: [{ name: 'stock.reserve', kind: 'step', after: [], compensate: 'undo' }],
    });
  });

  it('has the policies of the handler, and for the rest the module’s', () => {
    const [handler] = buildHandlerGraphs(
      providerOf([
        'stock.reserve',
        {
          version: 3,
          limit: 5,
          timeout: '2s',
          transactional: true,
          retry: { attempts: 7 },
          rateLimit: { count: 1, per: '1s' },
        },
      ]),
      { retry: { attempts: 4 }, compensationRetry: { attempts: 6 } },
    );
    expect(handler!.graph).toMatchObject({ version: 3, limit: { count: 5 } });
    expect(handler!.graph.steps.get('stock.reserve')).toMatchObject({
      timeout: 2_000,
      transactional: true,
      retry: { attempts: 7 },
      compensationRetry: { attempts: 6 },
      rateLimit: { count: 1, per: 1_000 },
    });
  });

  it('is the same whatever the method is called', () => {
    class Renamed {
      @StepHandler('a') handle0() {}
      @StepHandler('b') other() {}
    }
    const [a, b] = buildHandlerGraphs(Renamed);
    expect([a!.method, b!.method]).toEqual(['handle0', 'other']);
    expect(recordOf(a!.graph)).toEqual(recordOf(graphOf('a')));
    expect(recordOf(b!.graph)).toEqual(recordOf(graphOf('b')));
  });

  it('is inherited, and may be declared anew', () => {
    class Base {
      @StepHandler('a') run() {}
      @StepHandler('b') other() {}
    }
    class Own extends Base {
      @StepHandler('a', { version: 2 }) override run() {}
    }
    expect(buildHandlerGraphs(Own).map(({ graph: { name, version } }) => `${name}@${version}`)).toEqual([
      'handler:a@2',
      'handler:b@1',
    ]);
  });
});

describe('a wrong handler is refused, naming the class, the handler and the fix', () => {
  const WHERE = "StockHandlers: handler 'a' (handle0): ";
  test.each<[string, Parameters<typeof providerOf>[0], string]>([
    ['no name', [''], "@StepHandler was given '' as the handler's name; give 1 to 192 characters"],
    ['a name that is none', [7], "@StepHandler was given 7 as the handler's name"],
    ['a long name', ['x'.repeat(193)], 'give 1 to 192 characters'],
    [
      'a name with separators',
      ['stock:reserve'],
      "the handler's name 'stock:reserve' contains characters that idempotency keys cannot contain; remove spaces, ':'",
    ],
    ['a version', ['a', { version: 0 }], `${WHERE}version is 0; give a whole number`],
    [
      'a compensation that is not there',
      ['a', { compensate: 'gone' }],
      `${WHERE}compensate 'gone' is not a method of StockHandlers; add the method, or name undo, or name look`,
    ],
    [
      'a compensation that is a handler',
      ['a', { compensate: 'handle0' }],
      `${WHERE}compensate 'handle0' is itself a step`,
    ],
    [
      'an option',
      ['a', { pivot: true }],
      `${WHERE}@StepHandler has the unknown option 'pivot'. The options are: compensate, retry`,
    ],
    [
      'a combination',
      ['a', { transactional: true, idempotent: false }],
      `${WHERE}a transactional step already takes effect exactly once`,
    ],
    ['a limit', ['a', { limit: 0 }], `${WHERE}limit is 0`],
    [
      'the name of its compensation',
      ['undo', { compensate: 'undo' }],
      "it names a method that is also called 'undo'; give the method another name",
    ],
  ])('%s', (_, handler, problem) => {
    expect(problemsOf(providerOf(handler))).toContain(problem);
  });

  test('all at once', () => {
    const text = problemsOf(providerOf(['a', { version: 0 }], ['b', { probe: 'gone' }]));
    expect(text).toContain("handler 'a' (handle0)");
    expect(text).toContain("handler 'b' (handle1)");
  });

  test('a static method', () => {
    class StockHandlers {
      static run() {}
    }
    StepHandler('a')(StockHandlers as never, 'run', {});
    expect(problemsOf(StockHandlers)).toContain('it is static, but handlers must be instance methods');
  });
});
