import { IsString } from 'class-validator';
import {
  Saga,
  SagaDefinitionError,
  SagaValidationError,
  type StandardSchema,
  Step,
  type StepContext,
  SubSaga,
} from '../../libs/saga/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';

class Order {
  @IsString() sku!: string;
}

@Saga({ name: 'by-class', input: Order })
class ByClass {
  @Step() take({ input }: StepContext<unknown>) {
    return input;
  }
}

/** A schema that calls another service: it takes real time. */
const slow: StandardSchema = {
  '~standard': {
    version: 1,
    vendor: 'by-hand',
    validate: async (value) => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      const { sku } = value as { sku?: unknown };
      return typeof sku === 'string'
        ? { value: { sku: sku.trim() } }
        : { issues: [{ message: 'has to be text', path: ['sku'] }] };
    },
  },
};

@Saga({ name: 'by-schema', input: slow })
class BySchema {
  @Step() take({ input }: StepContext<unknown>) {
    return input;
  }
}

@Saga({ name: 'parent', timeout: '1m' })
class Parent {
  @SubSaga(() => BySchema)
  child({ input }: StepContext<unknown>) {
    return input;
  }
}

describe('the input of a saga in a test', () => {
  it('is checked as start() does it', async () => {
    const test = SagaTest.of(ByClass);
    expect((await test.run({ sku: 'cup' })).outcome).toMatchObject({ results: { take: { sku: 'cup' } } });
    const wrong = test.run({ sku: 4 });
    await expect(wrong).rejects.toThrow(SagaValidationError);
    await expect(wrong).rejects.toThrow(/saga 'by-class' .* input\.sku: must be a string/);
  });

  it('is what the schema makes of it', async () => {
    const { outcome } = await SagaTest.of(BySchema).run({ sku: ' cup ' });
    expect(outcome).toMatchObject({ results: { take: { sku: 'cup' } } });
  });

  it('is checked where it is a sub-saga, and virtual time waits for that', async () => {
    const test = SagaTest.of(Parent);
    const right = await test.run({ sku: ' cup ' });
    expect(right.outcome).toMatchObject({
      status: 'completed',
      results: { child: { take: { sku: 'cup' } } },
    });
    const wrong = await test.run({});
    expect(wrong.outcome).toMatchObject({
      status: 'compensated',
      failure: { kind: 'rejected', error: { code: 'SAGA_VALIDATION' } },
    });
    expect(wrong.trace).toEqual(['child']);
  });

  it('that nothing would be checked of is a definition error', async () => {
    @Saga({ name: 'bare', input: class Bare {} })
    class OfBare {
      @Step() take() {}
    }
    await expect(SagaTest.of(OfBare).run({})).rejects.toThrow(SagaDefinitionError);
  });
});
