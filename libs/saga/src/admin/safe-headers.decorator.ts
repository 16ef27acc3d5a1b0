import { applyDecorators, Header } from '@nestjs/common';

/** Allows no other origin, nothing inline and no frame. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** What every answer of the admin carries. */
export function SafeHeaders(): MethodDecorator {
  return applyDecorators(...Object.entries(HEADERS).map(([name, value]) => Header(name, value)));
}
