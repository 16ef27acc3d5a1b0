import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { FaultsModule } from '../faults/faults.module.js';
import { InventoryController } from './inventory.controller.js';
import { InventoryRequest } from './inventory-request.entity.js';
import { InventoryService } from './inventory.service.js';
import { Reservation } from './reservation.entity.js';
import { Stock } from './stock.entity.js';

@Module({
  imports: [TypeOrmModule.forFeature([Stock, Reservation, InventoryRequest]), FaultsModule],
  controllers: [InventoryController],
  providers: [InventoryService],
  exports: [InventoryService],
})
export class InventoryModule {}
