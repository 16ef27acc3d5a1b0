import { Body, HttpCode, Inject, Param, Post, Req } from '@nestjs/common';
import { CALL_NAMES, callerOptionsOf, type CallName, factsOf } from '../../engine/ports/call-table.js';
import { SagaApprovalPendingError } from '../../errors.js';
import { makeCall } from '../../nest/make-call.js';
import { AdminAccess, askedAction } from '../admin-access.js';
import { AdminRuntime } from '../admin.runtime.js';
import { ApiGroup } from '../api-docs.js';
import { ActionAnswerDto, bodyOf } from '../dto/action.dto.js';
import { Route } from '../dto/error.dto.js';
import { readBody } from '../read-body.js';
import { SafeHeaders } from '../safe-headers.decorator.js';

/** Done, or waiting for so many other people to say the same. */
type OperatorAnswer =
  | { readonly done: true }
  | { readonly done: false; readonly approvals: number; readonly needed: number };

/** Acting on one saga: a route for each call of the table. Every call says who acts and why. */
@ApiGroup()
export class AdminActionsController {
  constructor(
    @Inject(AdminRuntime) private readonly admin: AdminRuntime,
    @Inject(AdminAccess) private readonly access: AdminAccess,
  ) {}

  /** Asks for leave by the saga's name, then reads what was sent, and acts in the operator's name. */
  private async act(name: CallName, id: string, body: unknown, request: unknown): Promise<OperatorAnswer> {
    await this.access.one(askedAction(name, body), id, request);
    const known = callerOptionsOf(name);
    const { by, ...sent } = readBody(body, [...known, ...Object.keys(factsOf(name).options)]);
    const operator = await this.access.operator(request, by);
    try {
      await makeCall(this.admin.sagas, name, id, known.includes('by') ? { ...sent, by: operator } : sent);
      return { done: true };
    } catch (error) {
      if (!(error instanceof SagaApprovalPendingError)) throw error;
      const { approvals, needed } = error;
      return { done: false, approvals, needed };
    }
  }

  /** The routes are methods, as decorators ask for. */
  static {
    for (const name of CALL_NAMES) {
      // Named as the call, by which OpenAPI knows it.
      const methods = {
        [name](this: AdminActionsController, id: string, body: unknown, request: unknown) {
          return this.act(name, id, body, request);
        },
      };
      Object.defineProperty(this.prototype, name, { value: methods[name], configurable: true });
      const route = Route({
        summary: factsOf(name).summary,
        params: { id: "The saga's id." },
        body: bodyOf(name),
        answer: ActionAnswerDto,
        errors: [400, 404, 409, 415],
      });
      const descriptor = Object.getOwnPropertyDescriptor(this.prototype, name)!;
      for (const decorate of [Post(name), HttpCode(200), SafeHeaders(), route])
        decorate(this.prototype, name, descriptor);
      [Param('id'), Body(), Req()].forEach((decorate, index) => decorate(this.prototype, name, index));
      Reflect.defineMetadata('design:paramtypes', [String, Object, Object], this.prototype, name);
    }
  }
}
