import type { IncomingMessage } from 'node:http';
import { type CanActivate, ConflictException, type ExecutionContext } from '@nestjs/common';
import type { AdminAction, SagaAdminModuleOptions } from 'nestjs-durable-saga-admin';
import type { Caller, Credentials, Role } from './credentials.js';

const ANYBODY: Caller = { role: 'operator' };

/** What a role may do. */
const ALLOWED: Readonly<Record<Role, (kind: AdminAction['kind']) => boolean>> = {
  viewer: (kind) => kind === 'look',
  client: (kind) => kind === 'look' || kind === 'start' || kind === 'signal',
  operator: () => true,
};

/** Who sent each request. The server identifies the caller before the application receives the request. */
export class Callers {
  private readonly known = new WeakMap<IncomingMessage, Caller>();

  /** @param credentials undefined: there is no authentication */
  constructor(private readonly credentials: Credentials | undefined) {}

  /** Returns whether the request may pass. */
  identify(request: IncomingMessage): boolean {
    const { credentials } = this;
    const caller = credentials ? credentials.callerOf(request.headers.authorization) : ANYBODY;
    if (caller) this.known.set(request, caller);
    return caller !== undefined;
  }

  /** Refuses requests that did not pass the server. */
  readonly guard: CanActivate = {
    canActivate: (context: ExecutionContext) =>
      this.callerOf(context.switchToHttp().getRequest<IncomingMessage>()) !== undefined,
  };

  /**
   * The options of the admin by which roles decide, and operators are recorded.
   * @param retired names of sagas that run to their end, and do not start any more
   */
  adminOptions(retired: ReadonlySet<string>): SagaAdminModuleOptions {
    return {
      authorize: ({ kind, saga }, request: IncomingMessage) => {
        const caller = this.callerOf(request);
        if (!caller || !ALLOWED[caller.role](kind)) return false;
        if (kind === 'start' && saga !== undefined && retired.has(saga)) throw noLongerServed(saga);
        return true;
      },
      operator: (request: IncomingMessage) => this.operatorOf(request) as string,
    };
  }

  /** Without authentication, the name that a change has. Undefined: the dashboard asks for it. */
  private operatorOf(request: IncomingMessage & { readonly body?: unknown }): string | undefined {
    const name = this.callerOf(request)?.name;
    if (name !== undefined || request.method === 'GET') return name;
    const { by = 'anonymous' } = (request.body ?? {}) as { by?: string };
    return by;
  }

  private callerOf(request: IncomingMessage): Caller | undefined {
    return this.known.get(request);
  }
}

function noLongerServed(saga: string): ConflictException {
  const message = `The file of saga '${saga}' was removed. Its running sagas continue, and new ones are not started.`;
  return new ConflictException({ statusCode: 409, code: 'SAGA_REMOVED', message });
}
