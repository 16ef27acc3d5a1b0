import { ForbiddenException, Inject, Injectable } from '@nestjs/common';
import type { AdminAction } from './admin.options.js';
import { SagaCodecError, SagaConflictError, SagaNotFoundError, type SagaSnapshot } from 'nestjs-durable-saga';
import { type AllowedCall, shown, stepOfKey } from 'nestjs-durable-saga/internal';
import { AdminRuntime } from './admin.runtime.js';

/** Asks the application who may do what, and who they are. */
@Injectable()
export class AdminAccess {
  constructor(@Inject(AdminRuntime) private readonly admin: AdminRuntime) {}

  async may(action: AdminAction, request: unknown): Promise<boolean> {
    const { authorize } = this.admin.options;
    // Whatever else it may return by mistake is no leave.
    return authorize === undefined || (await authorize(action, request)) === true;
  }

  /** @throws ForbiddenException, which is answered with 403 */
  async demand(action: AdminAction, request: unknown): Promise<void> {
    if (!(await this.may(action, request))) this.forbid(action);
  }

  private forbid({ kind, saga }: AdminAction): never {
    throw new ForbiddenException({
      statusCode: 403,
      code: 'SAGA_ADMIN_FORBIDDEN',
      message: `You may not ${kind}${saga === undefined ? '' : ` ${kind === 'look' ? 'at ' : ''}${saga}`}.`,
    });
  }

  /**
   * One saga, if it may be looked at, and what is asked for may be done to it. For those who may not look at it, it is as
   * if it were not there: they get the same answer as for an id that no saga has.
   * @param id as it was sent
   * @throws ForbiddenException, SagaNotFoundError
   */
  async one(action: Omit<AdminAction, 'saga' | 'id'>, id: string, request: unknown): Promise<SagaSnapshot> {
    const found = await this.found(id);
    if (found) {
      const which = { saga: found.saga, id: found.id };
      if (await this.may({ ...action, ...which }, request)) return found;
      if (action.kind !== 'look' && (await this.may({ kind: 'look', ...which }, request)))
        return this.forbid({ ...action, ...which });
    }
    await this.demand(action, request);
    throw new SagaNotFoundError(`No saga has the id ${shown(id)}.`);
  }

  /** The action with those of its steps that the caller may do it to; undefined: none, or the caller may not do it at all. */
  async allowed(
    action: AllowedCall,
    which: { readonly saga: string; readonly id: string },
    request: unknown,
  ): Promise<AllowedCall | undefined> {
    const { kind, steps } = action;
    if (!steps) return (await this.may({ kind, ...which }, request)) ? action : undefined;
    const names = [...new Set(steps.map(stepOfKey))];
    const may = await Promise.all(names.map((step) => this.may({ kind, ...which, step }, request)));
    const left = steps.filter((key) => may[names.indexOf(stepOfKey(key))]);
    return left.length > 0 ? { ...action, steps: left } : undefined;
  }

  /**
   * Calls what starts a saga. Its answer or its error may name another saga, which already has the key or the lock: to
   * those who may not look at that one, only that there is one.
   * @throws SagaConflictError
   */
  async concealing<T extends { readonly id: string; readonly created?: boolean }>(
    start: () => Promise<T>,
    request: unknown,
  ): Promise<T> {
    const started = start();
    const other = await started.then(({ id, created }) => (created === false ? id : undefined), namedBy);
    if (other === undefined || (await this.sees(other, request))) return started;
    throw new SagaConflictError(
      'The id, the correlation id or the lock of this start belongs to a saga that you may not see. Use another key, or ' +
        'start it once that saga has ended.',
      other,
    );
  }

  /** A saga that is not there conceals nothing. One that cannot be read may be anybody's. */
  private async sees(id: string, request: unknown): Promise<boolean> {
    if (this.admin.options.authorize === undefined) return true;
    try {
      const found = await this.found(id);
      return found === undefined || (await this.may({ kind: 'look', saga: found.saga, id }, request));
    } catch (error) {
      if (error instanceof SagaCodecError) return false;
      throw error;
    }
  }

  private async found(id: string): Promise<SagaSnapshot | undefined> {
    try {
      return await this.admin.sagas.get(id);
    } catch (error) {
      if (error instanceof SagaNotFoundError) return undefined;
      throw error;
    }
  }

  /** Filters entries of several sagas down to those that the caller may see. Each name is checked once. */
  async visible<T>(items: readonly T[], sagaOf: (item: T) => string, request: unknown): Promise<T[]> {
    const names = [...new Set(items.map(sagaOf))];
    const seen = await Promise.all(names.map((saga) => this.may({ kind: 'look', saga }, request)));
    const allowed = new Set(names.filter((_, n) => seen[n]));
    return items.filter((item) => allowed.has(sagaOf(item)));
  }

  /** Who acts. @param said who they say they are; counts only where the application cannot tell */
  async operator(request: unknown, said: unknown): Promise<string | undefined> {
    const { operator } = this.admin.options;
    // What is no name is refused by the call that is to record it.
    return operator ? await operator(request) : (said as string | undefined);
  }
}

/** The saga that the error of a start names. */
function namedBy(error: unknown): string | undefined {
  return error instanceof SagaConflictError || error instanceof SagaCodecError ? error.sagaId : undefined;
}

/** What `authorize` receives of a request beside the saga: what was sent, and the step that it names. */
export function askedAction(
  kind: AdminAction['kind'],
  body: unknown,
): Pick<AdminAction, 'kind' | 'step' | 'parameters'> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return { kind };
  const { step } = body as { readonly step?: unknown };
  return { kind, ...(typeof step === 'string' && { step: stepOfKey(step) }), parameters: { ...body } };
}
