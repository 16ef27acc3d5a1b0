import { ApiField, ApiRoute, type RouteDoc } from '../api-docs.js';

/** The body of every error response. */
export class SagaAdminErrorDto {
  @ApiField({ example: 409, description: 'The HTTP status.' })
  statusCode!: number;
  @ApiField({ example: 'SAGA_STATE', description: 'A stable code for programs.' })
  code!: string;
  @ApiField({ description: 'What is wrong and how to fix it, for operators.' })
  message!: string;
}

/** Describes a route for OpenAPI if @nestjs/swagger is installed. */
export function Route(doc: RouteDoc): MethodDecorator {
  return ApiRoute(doc, SagaAdminErrorDto);
}
