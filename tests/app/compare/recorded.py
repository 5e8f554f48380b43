"""What programs of macOS print, as recorded by others on real machines (issues and sources on GitHub)."""

THERM_SILENT = """\
Note: No thermal warning level has been recorded
Note: No performance warning level has been recorded
Note: No CPU power status has been recorded
"""
"""An Apple silicon Mac that is cool (exelban/stats#749)."""

THERM_THROTTLED = """\
2020-06-26 12:30:37 +0200 CPU Power notify
	CPU_Scheduler_Limit 	= 40
	CPU_Available_CPUs 	= 8
	CPU_Speed_Limit 	= 28
"""
"""yujitach/MenuMeters#158."""

THERM_WARNING = """\
2026-08-20 13:11:08 +0700 Thermal Warning Level = 1
Note: No performance warning level has been recorded
Note: No CPU power status has been recorded
"""
"""As Apple's pmset.c prints it."""

PRESSURE = "com.apple.system.thermalpressurelevel 2\n"
"""`notifyutil -g com.apple.system.thermalpressurelevel`."""

ON_AC = """\
Now drawing from 'AC Power'
 -InternalBattery-0 (id=28442723)\t7%; AC attached; not charging present: true
"""

ON_BATTERY = """\
Now drawing from 'Battery Power'
 -InternalBattery-0 (id=22675555)\t97%; discharging; 4:09 remaining present: true
"""

DESKTOP = "Now drawing from 'AC Power'\n"

SETTINGS = """\
System-wide power settings:
Currently in use:
 standby              1
 sleep                15 (sleep prevented by powerd)
 lowpowermode         1
"""
