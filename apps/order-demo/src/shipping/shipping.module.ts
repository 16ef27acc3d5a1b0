import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { FaultsModule } from '../faults/faults.module.js';
import { Shipment } from './shipment.entity.js';
import { ShippingController } from './shipping.controller.js';
import { ShippingRequest } from './shipping-request.entity.js';
import { ShippingService } from './shipping.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Shipment, ShippingRequest]), FaultsModule],
  controllers: [ShippingController],
  providers: [ShippingService],
  exports: [ShippingService],
})
export class ShippingModule {}
