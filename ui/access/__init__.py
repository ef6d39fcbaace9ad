"""Who uses a session, what they may do, and the door that every page has."""

from ui.access.account import draw_account, draw_open_to_everybody, is_owners_machine
from ui.access.door import draw_door
from ui.access.session import OPEN_TO_ALL, Standing, actor, allowed, may_open, note_who, standing
