import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { AdminAccess } from './admin-access.js';

/** Answers with 403 or 404 before a stream of events begins, which has no other status than 200. */
@Injectable()
export class MayLook implements CanActivate {
  constructor(@Inject(AdminAccess) private readonly access: AdminAccess) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request: { readonly params: { readonly id: string } } = context.switchToHttp().getRequest();
    await this.access.one({ kind: 'look' }, request.params.id, request);
    return true;
  }
}
