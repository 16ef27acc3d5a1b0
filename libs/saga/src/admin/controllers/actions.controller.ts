import { Body, Param, Post, Req } from '@nestjs/common';
import { CALL_NAMES, callerOptionsOf, type CallName, factsOf } from '../../engine/ports/call-table.js';
import { SagaApprovalPendingError } from '../../errors.js';
import { makeCall } from '../../nest/make-call.js';
import { askedAction } from '../admin-access.js';
import { type ActionAnswer, ActionAnswerDto, bodyOf } from '../dto/action.dto.js';
import { AdminController, Route } from '../route.js';
import { readBody } from '../read-request.js';

/** Acting on one saga: a route for each call of the table. Every call says who acts and why. */
export class AdminActionsController extends AdminController {
  /** Asks for leave by the saga's name, then reads what was sent, and acts in the operator's name. */
  private async act(name: CallName, id: string, body: unknown, request: unknown): Promise<ActionAnswer> {
    await this.access.one(askedAction(name, body), id, request);
    const known = callerOptionsOf(name);
    const { by, ...sent } = readBody(body, [...known, ...Object.keys(factsOf(name).options)]);
    const operator = await this.access.operator(request, by);
    try {
      await makeCall(this.admin, name, id, known.includes('by') ? { ...sent, by: operator } : sent);
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
      for (const decorate of [Post(name), route]) decorate(this.prototype, name, descriptor);
      [Param('id'), Body(), Req()].forEach((decorate, index) => decorate(this.prototype, name, index));
      Reflect.defineMetadata('design:paramtypes', [String, Object, Object], this.prototype, name);
    }
  }
}
