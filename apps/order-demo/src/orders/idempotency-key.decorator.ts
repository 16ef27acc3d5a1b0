import { BadRequestException, createParamDecorator, type ExecutionContext } from '@nestjs/common';

const LONGEST = 255;

/** The request's Idempotency-Key, if it has one. */
export const IdempotencyKey = createParamDecorator(
  (_: unknown, context: ExecutionContext): string | undefined => {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string | undefined> }>();
    const key = headers['idempotency-key'];
    if (key !== undefined && key.length > LONGEST) {
      throw new BadRequestException(`Idempotency-Key is longer than ${LONGEST} characters`);
    }
    return key || undefined;
  },
);
