import { Entity } from 'typeorm';
import { HandledRequest } from '../participant/handled-request.js';

@Entity('inventory_request')
export class InventoryRequest extends HandledRequest {}
