import { Get, Inject, Req } from '@nestjs/common';
import { AdminAccess } from '../admin-access.js';
import { ApiGroup } from '../api-docs.js';
import { Route } from '../dto/error.dto.js';
import { DefinitionDto } from '../dto/figures.dto.js';
import { SafeHeaders } from '../safe-headers.decorator.js';
import type { AdminDefinition } from '../saga-drawing.js';
import { SagaViews } from '../saga-views.js';

/** What the sagas of this process are. */
@ApiGroup()
export class AdminDefinitionsController {
  constructor(
    @Inject(AdminAccess) private readonly access: AdminAccess,
    @Inject(SagaViews) private readonly views: SagaViews,
  ) {}

  @Get()
  @SafeHeaders()
  @Route({
    summary: 'Returns the definitions of the sagas of this process, by name',
    answer: [DefinitionDto],
  })
  async list(@Req() request: unknown): Promise<AdminDefinition[]> {
    await this.access.demand({ kind: 'look' }, request);
    return this.access.visible(await this.views.definitions(), ({ name }) => name, request);
  }
}
