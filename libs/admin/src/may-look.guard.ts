import type { ServerResponse } from 'node:http';
import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { SagaUnavailableError } from 'nestjs-durable-saga';
import { AdminAccess } from './admin-access.js';

/** Streams of events of one process. Each holds a connection, and its saga is read each second while it changes. */
export const MOST_STREAMS = 1_000;

/** Answers with 403, 404 or 503 before a stream of events begins, which has no other status than 200. */
@Injectable()
export class MayLook implements CanActivate {
  private streams = 0;

  constructor(@Inject(AdminAccess) private readonly access: AdminAccess) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request: { readonly params: { readonly id: string } } = http.getRequest();
    await this.access.one({ kind: 'look' }, request.params.id, request);
    if (this.streams >= MOST_STREAMS)
      throw new SagaUnavailableError(
        `This process sends ${MOST_STREAMS} streams of events already. Close one, or ask for the saga with ?wait=30s.`,
      );
    const given: ServerResponse | { readonly raw: ServerResponse } = http.getResponse();
    const response = 'raw' in given ? given.raw : given;
    if (response.closed) return true;
    this.streams += 1;
    response.once('close', () => (this.streams -= 1));
    return true;
  }
}
