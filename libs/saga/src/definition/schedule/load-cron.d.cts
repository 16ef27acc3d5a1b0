/** Throws with the code MODULE_NOT_FOUND if `@nestjs/schedule` is not installed. */
export declare function loadCron(): unknown;
