import { defineChannel } from 'taskq';

export default defineChannel({
  call({ room }) {
    if (room === 'closed') throw new Error('the room is closed');
    return { said: room };
  },
});
