/** Says which process it ran in. */
export default async () => ({ pid: process.pid });
