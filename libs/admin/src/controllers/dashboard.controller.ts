import { Get, Header, Inject, NotFoundException, Param, Req, Res, StreamableFile } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { swagger } from '../api-docs.js';
import { DashboardFiles } from '../dashboard-files.js';
import { AdminController, SafeHeaders } from '../route.js';

/** The dashboard: a page and its files. All that it shows comes from the REST routes. */
@(swagger?.ApiExcludeController() ?? (() => undefined))
export class AdminDashboardController extends AdminController {
  @Inject(DashboardFiles) private readonly files!: DashboardFiles;
  @Inject(HttpAdapterHost) private readonly host!: HttpAdapterHost;

  /**
   * Serves the page. Its addresses are relative, because the prefix of a proxy or of the application is not known here.
   * So they depend on whether the address of the page ends with a slash.
   */
  @Get()
  @SafeHeaders()
  @Header('content-type', 'text/html; charset=utf-8')
  async page(@Req() request: { originalUrl?: string; url?: string }): Promise<string> {
    await this.access.demand({ kind: 'look' }, request);
    const [address = ''] = (request.originalUrl ?? request.url ?? '').split('?', 1);
    return this.files.index(address.endsWith('/') ? '' : `${this.admin.path.split('/').at(-1)}/`);
  }

  @Get('assets/:version/:name')
  @SafeHeaders()
  asset(
    @Param('version') version: string,
    @Param('name') name: string,
    @Res({ passthrough: true }) response: unknown,
  ): StreamableFile {
    const file = version === this.files.version ? this.files.file(name) : undefined;
    if (!file) throw new NotFoundException();
    // Not by a decorator, which would have browsers keep refusals as well.
    this.host.httpAdapter.setHeader(response, 'cache-control', 'private, max-age=31536000, immutable');
    return new StreamableFile(file.content, { type: file.type, length: file.content.length });
  }
}
