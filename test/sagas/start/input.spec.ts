import { Type } from 'class-transformer';
import {
  IsInt,
  IsOptional,
  IsString,
  Min,
  Validate,
  ValidateNested,
  ValidatorConstraint,
  type ValidatorConstraintInterface,
} from 'class-validator';
import { z } from 'zod';
import {
  Saga,
  SagaConflictError,
  SagaDefinitionError,
  SagaPayloadError,
  SagaValidationError,
  type StandardSchema,
  type StandardSchemaResult,
  Step,
  type StepContext,
  SubSaga,
} from '../../../libs/saga/src/index.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const NO_WORKER = { worker: false } as const;
const stored = () =>
  apps.sql<{ input: unknown; lock_key: string | null }>('SELECT input, lock_key FROM saga.instance');

/** What a start is refused with. */
async function refusal(start: Promise<unknown>): Promise<SagaValidationError> {
  const error: unknown = await start.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(SagaValidationError);
  return error as SagaValidationError;
}

const schemaOf = (
  validate: (value: never) => StandardSchemaResult | Promise<StandardSchemaResult>,
): StandardSchema => ({
  '~standard': { version: 1, vendor: 'by-hand', validate: validate as () => StandardSchemaResult },
});

class LineDto {
  @IsString() sku!: string;
  @IsInt() @Min(1) quantity!: number;
}
class OrderDto {
  @IsString() customer!: string;
  @ValidateNested({ each: true }) @Type(() => LineDto) lines!: LineDto[];
  @IsOptional() @IsString() note?: string;
}

@Saga({ name: 'by-class', input: OrderDto })
class ByClass {
  @Step() take({ input }: StepContext<unknown>) {
    return input;
  }
}

const ORDER = { customer: 'ann', lines: [{ sku: 'cup', quantity: 2 }] };

describe('an input that a class describes', () => {
  test('is stored, and given to steps, as it was given', async () => {
    const { sagas } = await apps.start({ sagas: [ByClass] });
    const given = { ...ORDER, unlisted: 'stays' };
    const handle = await sagas.start(ByClass, given, { correlationId: '1' });
    expect(await handle.outcome()).toMatchObject({ status: 'completed', results: { take: given } });
    expect(await stored()).toMatchObject([{ input: given }]);
    expect(await sagas.start(ByClass, given, { correlationId: '1' })).toMatchObject({ created: false });
    await expect(sagas.start(ByClass, ORDER, { correlationId: '1' })).rejects.toThrow(SagaConflictError);
  });

  test('is refused before anything is stored, naming the saga and each path', async () => {
    const { sagas } = await apps.start({ sagas: [ByClass], options: NO_WORKER });
    const wrong = { customer: 7, lines: [ORDER.lines[0], { sku: 'pot', quantity: 0 }, { quantity: 1.5 }] };
    const { message, code, cause } = await refusal(sagas.start(ByClass, wrong));
    expect([code, cause]).toEqual(['SAGA_VALIDATION', undefined]);
    expect(message).toContain(`saga 'by-class'`);
    expect(message).toContain('input.customer: must be a string;');
    expect(message).toContain('input.lines[1].quantity: must not be less than 1;');
    expect(message).toContain('input.lines[2].sku: must be a string;');
    expect(message).toContain('input.lines[2].quantity: must be an integer number.');
    expect(await stored()).toEqual([]);
  });

  test.each([[undefined], [null], ['an order'], [[ORDER]]])('is an object, and never %p', async (wrong) => {
    const { sagas } = await apps.start({ sagas: [ByClass], options: NO_WORKER });
    expect((await refusal(sagas.start(ByClass, wrong))).message).toContain('input: must be an object.');
    expect(await stored()).toEqual([]);
  });

  test('is checked by rules that answer later, too', async () => {
    @ValidatorConstraint({ async: true })
    class IsKnown implements ValidatorConstraintInterface {
      async validate(customer: unknown) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return customer === 'ann';
      }
    }
    class Known {
      @Validate(IsKnown, { message: 'has to be a customer' }) customer!: string;
    }
    @Saga({ name: 'known', input: Known })
    class OfKnown {
      @Step() take() {}
    }
    const { sagas } = await apps.start({ sagas: [OfKnown], options: NO_WORKER });
    expect(await sagas.start(OfKnown, { customer: 'ann' })).toMatchObject({ created: true });
    const { message } = await refusal(sagas.start(OfKnown, { customer: 'bob' }));
    expect(message).toContain('input.customer: has to be a customer');
  });

  test('inherits the rules of its base class', async () => {
    class Gift extends OrderDto {}
    @Saga({ name: 'gift', input: Gift })
    class OfGift {
      @Step() take() {}
    }
    const { sagas } = await apps.start({ sagas: [OfGift], options: NO_WORKER });
    expect((await refusal(sagas.start(OfGift, { lines: [] }))).message).toContain('input.customer');
  });

  test('that nothing would be checked of stops the application, naming the saga, the class and the fix', async () => {
    class Bare {
      sku!: string;
    }
    @Saga({ name: 'bare', input: Bare })
    class OfBare {
      @Step() take() {}
    }
    const start = apps.start({ sagas: [OfBare, ByClass] });
    await expect(start).rejects.toThrow(SagaDefinitionError);
    await expect(start).rejects.toThrow(
      /^OfBare: @Saga input is the class Bare, which has no decorators of class-validator.*; decorate its properties/,
    );
  });
});

@Saga({
  name: 'by-schema',
  input: z.object({
    customer: z.string().trim(),
    quantity: z.number().int().min(1).default(1),
    lines: z.array(z.object({ sku: z.string() })).optional(),
  }),
  lockKey: ({ input }: { input: { customer: string; quantity: number } }) =>
    `${input.customer}/${input.quantity}`,
})
class BySchema {
  @Step() take({ input }: StepContext<unknown>) {
    return input;
  }
}

describe('an input that a Standard Schema describes', () => {
  test('is stored, given to the lockKey and to steps, and compared as what the schema makes of it', async () => {
    const { sagas } = await apps.start({ sagas: [BySchema] });
    const made = { customer: 'ann', quantity: 1 };
    const handle = await sagas.start(BySchema, { customer: ' ann ', unlisted: 1 }, { correlationId: '1' });
    expect(await handle.outcome()).toMatchObject({ status: 'completed', results: { take: made } });
    expect(await stored()).toMatchObject([{ input: made, lock_key: 'ann/1' }]);
    const again = sagas.start(BySchema, { customer: 'ann', quantity: 1 }, { correlationId: '1' });
    expect(await again).toMatchObject({ id: handle.id, created: false });
    const other = sagas.start(BySchema, { customer: 'ann', quantity: 2 }, { correlationId: '1' });
    await expect(other).rejects.toThrow(SagaConflictError);
  });

  test('is refused before anything is stored, naming the saga and each path', async () => {
    const { sagas } = await apps.start({ sagas: [BySchema], options: NO_WORKER });
    const { message } = await refusal(
      sagas.start(BySchema, { quantity: 0, lines: [{ sku: 'cup' }, { sku: 4 }] }),
    );
    expect(message).toContain(`saga 'by-schema'`);
    for (const path of ['input.customer: ', 'input.quantity: ', 'input.lines[1].sku: '])
      expect(message).toContain(path);
    expect(await stored()).toEqual([]);
  });

  test('is checked within the transaction of the caller, which stays usable', async () => {
    const { sagas, dataSource } = await apps.start({ sagas: [BySchema], options: NO_WORKER });
    await dataSource.transaction(async (manager) => {
      await refusal(sagas.start(BySchema, { customer: 4 }, { manager }));
      await sagas.start(BySchema, { customer: ' bob ' }, { manager });
    });
    expect(await stored()).toMatchObject([{ input: { customer: 'bob', quantity: 1 } }]);
  });

  test('may be a function, and may answer later', async () => {
    const schema = Object.assign(
      () => {
        throw new Error('called');
      },
      schemaOf(async ({ n }: { n: number }) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return n > 0 ? { value: { n: n + 1 } } : { issues: [{ message: 'too small', path: [{ key: 'n' }] }] };
      }),
    );
    @Saga({ name: 'later', input: schema })
    class Later {
      @Step() take() {}
    }
    const { sagas } = await apps.start({ sagas: [Later], options: NO_WORKER });
    await sagas.start(Later, { n: 1 });
    expect(await stored()).toMatchObject([{ input: { n: 2 } }]);
    expect((await refusal(sagas.start(Later, { n: 0 }))).message).toContain('input.n: too small.');
  });

  test('that a schema makes into what JSON cannot carry is refused as any other', async () => {
    @Saga({ name: 'bigint', input: schemaOf(() => ({ value: { amount: 1n } })) })
    class OfBigint {
      @Step() take() {}
    }
    const { sagas } = await apps.start({ sagas: [OfBigint], options: NO_WORKER });
    const start = sagas.start(OfBigint, { amount: '1' });
    await expect(start).rejects.toThrow(SagaPayloadError);
    await expect(start).rejects.toMatchObject({ path: 'input.amount' });
  });

  test.each<[string, StandardSchema, RegExp]>([
    [
      'throws',
      schemaOf(() => {
        throw new Error('no connection');
      }),
      /saga 'broken' could not be validated: .* threw: no connection\./,
    ],
    ['rejects', schemaOf(() => Promise.reject(new Error('no connection'))), /threw: no connection\./],
    ['gives no answer', schemaOf(() => undefined as never), /must return \{ value \} or \{ issues \}/],
  ])('is refused with the cause when the schema %s', async (_, input, expected) => {
    @Saga({ name: 'broken', input })
    class Broken {
      @Step() take() {}
    }
    const { sagas } = await apps.start({ sagas: [Broken], options: NO_WORKER });
    const { message, cause } = await refusal(sagas.start(Broken, {}));
    expect(message).toMatch(expected);
    expect(cause).toBeInstanceOf(Error);
    expect(await stored()).toEqual([]);
  });

  test('that is refused without an issue is refused', async () => {
    @Saga({ name: 'mute', input: schemaOf(() => ({ issues: [] })) })
    class Mute {
      @Step() take() {}
    }
    const { sagas } = await apps.start({ sagas: [Mute], options: NO_WORKER });
    expect((await refusal(sagas.start(Mute, {}))).message).toContain(
      'input: is invalid (no message was given)',
    );
  });
});

describe('a message about a wrong input', () => {
  test('names ten places, and how many more there are', async () => {
    const { sagas } = await apps.start({ sagas: [BySchema], options: NO_WORKER });
    const lines = Array.from({ length: 13 }, () => ({}));
    const { message } = await refusal(sagas.start(BySchema, { customer: 'ann', lines }));
    expect(message.match(/input\.lines\[\d+\]\.sku/g)).toHaveLength(10);
    expect(message).toMatch(/; and 3 more\.$/);
  });

  test('shows no value, whatever the checks say', async () => {
    const secret = 'tok_4711';
    const telling = (value: { token: unknown }) => ({
      issues: [
        { path: ['token'], message: `token must be a number (was ${JSON.stringify(value.token)})` },
        { path: [], message: `Invalid type: Expected number but received ${JSON.stringify(value.token)}` },
        { path: ['token'], message: `${String(value.token)} is not known` },
        { message: `no such token: '${String(value.token)}'` },
      ],
    });
    class Telling {
      @IsInt({ message: '$value is not a number' }) token!: number;
    }
    @Saga({ name: 'telling', input: schemaOf(telling) })
    class OfSchema {
      @Step() take() {}
    }
    @Saga({ name: 'telling-class', input: Telling })
    class OfClass {
      @Step() take() {}
    }
    const { sagas } = await apps.start({ sagas: [OfSchema, OfClass], options: NO_WORKER });
    for (const saga of [OfSchema, OfClass]) {
      const { message } = await refusal(sagas.start(saga, { token: secret }));
      expect(message).toContain('input.token: ');
      expect(message).not.toContain(secret);
    }
  });
});

describe('the input of a sub-saga', () => {
  const asked = { times: 0 };
  const given: { input: unknown } = { input: undefined };
  beforeEach(() => {
    asked.times = 0;
  });

  @Saga({ name: 'parent' })
  class Parent {
    @SubSaga(() => BySchema, { retry: { attempts: 5, delay: 1 } })
    child() {
      asked.times += 1;
      return given.input;
    }
  }

  test('is checked: what the schema makes of it is what its steps are given', async () => {
    given.input = { customer: ' ann ' };
    const { sagas } = await apps.start({ sagas: [Parent, BySchema] });
    const { outcome } = await sagas.start(Parent, {});
    expect(await outcome()).toMatchObject({
      status: 'completed',
      results: { child: { take: { customer: 'ann', quantity: 1 } } },
    });
  });

  test('fails the step immediately if it is invalid: a retry would not help', async () => {
    given.input = { customer: 4 };
    const { sagas } = await apps.start({ sagas: [Parent, BySchema] });
    const { outcome } = await sagas.start(Parent, {});
    expect(await outcome()).toMatchObject({
      status: 'compensated',
      failure: {
        kind: 'rejected',
        step: 'child',
        error: { code: 'SAGA_VALIDATION', message: expect.stringContaining('input.customer: ') },
      },
    });
    expect(asked.times).toBe(1);
    expect(await stored()).toHaveLength(1);
  });

  test('is asked for again while the schema throws', async () => {
    const schema = schemaOf((value) => {
      if (asked.times < 3) throw new Error('no connection');
      return { value };
    });
    @Saga({ name: 'patient', input: schema })
    class Patient {
      @Step() take() {}
    }
    @Saga({ name: 'parent-of-patient' })
    class ParentOfPatient {
      @SubSaga(() => Patient, { retry: { attempts: 5, delay: 1 } })
      child() {
        asked.times += 1;
        return {};
      }
    }
    const { sagas } = await apps.start({ sagas: [ParentOfPatient, Patient] });
    const { outcome } = await sagas.start(ParentOfPatient, {});
    expect(await outcome()).toMatchObject({ status: 'completed' });
    expect(asked.times).toBe(3);
  });

  test('is checked by a class, too', async () => {
    @Saga({ name: 'parent-of-class' })
    class ParentOfClass {
      @SubSaga(() => ByClass)
      child({ input }: StepContext<unknown>) {
        return input;
      }
    }
    const { sagas } = await apps.start({ sagas: [ParentOfClass, ByClass] });
    const right = await sagas.start(ParentOfClass, ORDER);
    expect(await right.outcome()).toMatchObject({ results: { child: { take: ORDER } } });
    const wrong = await sagas.start(ParentOfClass, { ...ORDER, customer: 1 });
    expect(await wrong.outcome()).toMatchObject({
      failure: { error: { message: expect.stringContaining('input.customer: must be a string') } },
    });
  });
});
