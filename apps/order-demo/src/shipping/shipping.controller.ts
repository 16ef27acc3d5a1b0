import { Controller, Get, Param, ParseUUIDPipe } from '@nestjs/common';
import type { Shipment } from './shipment.entity.js';
import { ShippingService } from './shipping.service.js';

@Controller('shipments')
export class ShippingController {
  constructor(private readonly shipping: ShippingService) {}

  @Get(':orderId')
  shipments(@Param('orderId', ParseUUIDPipe) orderId: string): Promise<Shipment[]> {
    return this.shipping.shipments(orderId);
  }
}
