import {
  type CanActivate,
  type ExecutionContext,
  ForbiddenException,
  Inject,
  Injectable,
  UnsupportedMediaTypeException,
} from '@nestjs/common';
import { AdminRuntime } from './admin.runtime.js';

/** What a page of another site cannot send without being asked for leave by the browser first. */
export const ACTION_HEADER = 'x-saga-admin';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Accepts actions from the admin's own pages and from programs, but not from a page of another site in the browser of a
 * user who is logged in (CSRF). A form of such a page can send neither this content type nor this header. A script
 * passes only if CORS is open to its site with credentials. Then its origin gives it away.
 */
@Injectable()
export class SameSiteGuard implements CanActivate {
  constructor(@Inject(AdminRuntime) private readonly admin: AdminRuntime) {}

  canActivate(context: ExecutionContext): boolean {
    const { method, headers } = context.switchToHttp().getRequest<{ method: string; headers: Headers }>();
    if (method === 'GET' || method === 'HEAD') return true;
    const type = textOf(headers['content-type']).split(';', 1)[0]!.trim().toLowerCase();
    if (type !== 'application/json')
      throw new UnsupportedMediaTypeException(
        problem(415, 'SAGA_ADMIN_CONTENT_TYPE', 'Send content-type: application/json.'),
      );
    if (textOf(headers[ACTION_HEADER]) === '')
      throw new ForbiddenException(problem(403, 'SAGA_ADMIN_HEADER', `Send the header ${ACTION_HEADER}: 1.`));
    if (!this.isOurs(headers))
      throw new ForbiddenException(
        problem(
          403,
          'SAGA_ADMIN_ORIGIN',
          'Actions from pages of other sites are rejected. Add the origin to origins of SagaAdminModule.register().',
        ),
      );
    return true;
  }

  /** Programs send neither. What the browser says of the site is surer than hosts, which proxies may change. */
  private isOurs(headers: Headers): boolean {
    const origin = textOf(headers.origin);
    if (this.admin.options.origins.includes(origin)) return true;
    const site = textOf(headers['sec-fetch-site']);
    if (site !== '') return site === 'same-origin' || site === 'none';
    if (origin === '') return true;
    return URL.canParse(origin) && new URL(origin).host === textOf(headers.host).toLowerCase();
  }
}

function problem(statusCode: number, code: string, message: string): object {
  return { statusCode, code, message };
}

function textOf(header: string | string[] | undefined): string {
  return (Array.isArray(header) ? header[0] : header) ?? '';
}
