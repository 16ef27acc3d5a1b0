import { ApiRoute, dto, field, type RouteDoc } from '../api-docs.js';

/** The body of every error response. */
const SagaAdminErrorDto = dto<{ statusCode: number; code: string; message: string }>('SagaAdminErrorDto', {
  statusCode: { type: 'number', example: 409, description: 'The HTTP status.' },
  code: field.text('A stable code for programs.', 'SAGA_STATE'),
  message: field.text('What is wrong and how to fix it, for operators.'),
});

/** The fields of a call on a schedule or on a step of all sagas. */
export const WHO = {
  reason: field.optional(field.text()),
  by: field.optional(field.text('The operator, if the application does not identify one.')),
};

/** Describes a route for OpenAPI if @nestjs/swagger is installed. */
export function Route(doc: RouteDoc): MethodDecorator {
  return ApiRoute(doc, SagaAdminErrorDto);
}
