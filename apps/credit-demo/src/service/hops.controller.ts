import { Controller, Get, Param, ParseUUIDPipe } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Hop } from './hop.entity.js';

@Controller('hops')
export class HopsController {
  constructor(private readonly dataSource: DataSource) {}

  /** The messages about an order that reached this service, oldest first. */
  @Get(':orderId')
  ofOrder(@Param('orderId', ParseUUIDPipe) orderId: string): Promise<Hop[]> {
    return this.dataSource.manager.find(Hop, { where: { orderId }, order: { id: 'ASC' } });
  }
}
