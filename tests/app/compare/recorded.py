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

POWERMETRICS = """\
Machine model: Mac14,2
OS version: 25C56
Boot arguments:
Boot time: Thu Sep 10 23:42:17 2026



*** Sampled system activity (Fri Sep 11 13:41:46 2026 -0700) (1002.90ms elapsed) ***


**** Processor usage ****

E-Cluster HW active frequency: 1248 MHz
E-Cluster HW active residency:  77.43% (600 MHz:   0% 912 MHz:  54% 2424 MHz: 8.7%)
E-Cluster idle residency:  22.57%
CPU 0 frequency: 1359 MHz

P-Cluster HW active frequency: 1145 MHz
P-Cluster HW active residency:  56.23% (660 MHz:  36% 924 MHz: .54% 3504 MHz:   0%)
P-Cluster idle residency:  43.77%
CPU 4 frequency: 2039 MHz

CPU Power: 823 mW
GPU Power: 26 mW
ANE Power: 323 mW
Combined Power (CPU + GPU + ANE): 1172 mW


**** Thermal pressure ****

Current pressure level: Nominal


*** Sampled system activity (Fri Sep 11 13:41:47 2026 -0700) (1010.09ms elapsed) ***


**** Processor usage ****

E-Cluster HW active frequency: 1049 MHz
E-Cluster HW active residency:  77.05% (600 MHz:   0% 912 MHz:  65% 2424 MHz: 1.8%)
E-Cluster idle residency:  22.95%
CPU 0 frequency: 1045 MHz

CPU Power: 205 mW
GPU Power: 19 mW
ANE Power: 221 mW
Combined Power (CPU + GPU + ANE): 445 mW


**** GPU usage ****

GPU HW active frequency: 444 MHz
GPU HW active residency:  20.50% (444 MHz:  20%)
GPU idle residency:  79.50%
GPU Power: 19 mW


**** Thermal pressure ****

Current pressure level: Nominal
"""
"""`powermetrics --samplers cpu_power,gpu_power,thermal` on an M2, two samples, shortened."""
